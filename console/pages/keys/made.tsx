// A new value of a key: shown once, since the proxy keeps only its hash. It is in this component and nowhere else.
import type { JSX } from 'preact';
import { t } from '../../text/index.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';

export interface MadeKey {
  readonly key: string;
  readonly alias: string | null;
  /** How long the former value is still accepted; '' = not at all, null = there is no former one. */
  readonly grace: string | null;
}

export function Made({ made, onClose }: { made: MadeKey; onClose: () => void }): JSX.Element {
  const texts = t().keysPage;
  return (
    <Dialog
      title={made.alias === null ? texts.made : `${texts.made} ${made.alias}`}
      loses={texts.notYet}
      onClose={onClose}
    >
      <div class="stacked">
        <p>{texts.madeWhy}</p>
        <div class="made-key">
          <code data-key>{made.key}</code>
          <CopyButton text={made.key} label={texts.copyKey} />
        </div>
        {made.grace === null ? null : <p class="quiet">{texts.madeRegenerated(made.grace)}</p>}
        <div class="form-actions">
          <Button kind="primary" onClick={onClose}>
            {texts.done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
