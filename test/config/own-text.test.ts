import t from 'tap';
import { ownText } from '../../config/own-text.ts';

t.test('a copied part is the same text', async (t) => {
  const whole = 'model_name: "a name of a model", 模型的名称,这是一个很长的名字 and half a pair: \ud83d.';
  for (let length = 0; length <= whole.length; length += 1)
    t.equal(ownText(whole.slice(0, length)), whole.slice(0, length));
});
