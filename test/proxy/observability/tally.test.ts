import t from 'tap';
import { Buckets, LabelledHistogram } from '../../../proxy/observability/tally.ts';

t.test('a value counts in the first bucket that is not below it, and in all above', async (t) => {
  const buckets = new Buckets([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 5, 6]) buckets.observe(value);
  const samples = buckets.samples('x', { model: 'm' });
  t.same(
    samples.map(({ metricName, labels, value }) => [metricName, labels['le'] ?? '', value]),
    [
      ['x_bucket', 1, 2],
      ['x_bucket', 2, 4],
      ['x_bucket', 5, 5],
      ['x_bucket', '+Inf', 6],
      ['x_sum', '', 15.5],
      ['x_count', '', 6],
    ],
  );
});

t.test('models that nobody asked for have no samples', async (t) => {
  const histogram = new LabelledHistogram('x', 'help', 'model', [1]);
  histogram.of('idle');
  histogram.of('asked').observe(0.5);
  const { values } = (await histogram.get()) as { values: { labels: { model: string } }[] };
  t.same([...new Set(values.map(({ labels }) => labels.model))], ['asked']);
  t.equal(histogram.of('asked'), histogram.of('asked'));
});
