// What stands where data will be: nothing yet, nothing at all, an error, an old answer, a page that is not this role's.
import type { ComponentChildren, JSX } from 'preact';
import type { ApiError } from '../api/client.ts';
import type { Resource } from '../api/resource.ts';
import { ago } from '../format/time.ts';
import { now } from '../base/now.ts';
import { t } from '../text/index.ts';
import { Badge, Mark } from './badge.tsx';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

/** Shorter than that nobody sees a change of what is shown. */
const SKELETON_AFTER_MS = 400;
const SENTENCE_AFTER_MS = 3000;
const TOO_LONG_MS = 15_000;
const STALE_AFTER_MS = 60_000;

/** There is nothing, and that is all right: says what would be here and how it gets here. */
export function Empty({
  title,
  children,
  icon = 'info',
  action,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  readonly action?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="state">
      <Icon name={icon} size={20} />
      <p class="title">{title}</p>
      {children === undefined ? null : <div class="text">{children}</div>}
      {action}
    </div>
  );
}

/** What failed, on which side, with its id, and a way on. */
export function Failed({ error, retry }: { error: ApiError; retry?: () => void }): JSX.Element {
  const texts = t().states;
  if (error.status === 403) {
    return (
      <Empty icon="key" title={texts.forbidden}>
        {texts.forbiddenWhy}
        <p class="quiet">{error.message}</p>
      </Empty>
    );
  }
  return (
    <div class="state bad" role="alert">
      <Mark tone="bad" size={14} />
      <p class="title">{texts.sides[error.side]}</p>
      <div class="text">
        <p>{error.message}</p>
        <p class="quiet">
          {error.status === 0 ? null : `HTTP ${error.status}`}
          {error.code === null ? null : ` · ${error.code}`}
          {error.requestId === null ? null : ` · ${error.requestId}`}
        </p>
      </div>
      {retry === undefined ? null : (
        <Button icon="refresh" onClick={retry}>
          {t().common.retry}
        </Button>
      )}
    </div>
  );
}

/** Nothing for a moment, then the shape of what comes, then a sentence with a way out. */
export function Loading({
  sinceMs,
  what,
  cancel,
  lines = 4,
}: {
  readonly sinceMs: number;
  /** "Reading 31 days": said when it takes long. */
  readonly what?: string;
  readonly cancel?: () => void;
  readonly lines?: number;
}): JSX.Element {
  const takenMs = Math.max(now.value, Date.now()) - sinceMs;
  const texts = t().states;
  const isLong = takenMs > SENTENCE_AFTER_MS;
  return (
    <div class="loading" role="status" aria-label={texts.loading} aria-busy="true">
      <div class="skeleton" style={{ '--delay': `${SKELETON_AFTER_MS}ms`, '--lines': String(lines) }} />
      {isLong ? (
        <p>
          {what ?? texts.loading} … {takenMs > TOO_LONG_MS ? texts.tooLong : null}
          {cancel === undefined ? null : (
            <Button kind="quiet" onClick={cancel}>
              {t().common.cancel}
            </Button>
          )}
        </p>
      ) : null}
    </div>
  );
}

/** How old an answer is, when its refreshes fail: amber, after a minute grey. */
export function Age({ atMs, error }: { atMs: number; error: ApiError | null }): JSX.Element | null {
  if (error === null) return null;
  const isOld = now.value - atMs > STALE_AFTER_MS;
  return (
    <Badge tone={isOld ? 'idle' : 'warn'} title={error.message}>
      {t().states.stale(ago(atMs, now.value))}
    </Badge>
  );
}

/** A resource in whatever state it is. Old data stays, dimmed, while a new answer is on its way. */
export function Loads<T>({
  from,
  children,
  what,
  lines,
  dims = false,
}: {
  readonly from: Resource<T>;
  readonly children: (data: T) => ComponentChildren;
  readonly what?: string;
  readonly lines?: number;
  /** Whether a refresh is shown: not for what is polled. */
  readonly dims?: boolean;
}): JSX.Element {
  const state = from.state.value;
  if (state.is === 'loading') {
    return (
      <Loading
        sinceMs={state.sinceMs}
        cancel={() => from.cancel()}
        {...(what === undefined ? {} : { what })}
        {...(lines === undefined ? {} : { lines })}
      />
    );
  }
  if (state.is === 'failed') return <Failed error={state.error} retry={() => void from.refresh()} />;
  return (
    <div class={dims && state.isRefreshing ? 'loads dimmed' : 'loads'}>
      <Age atMs={state.atMs} error={state.error} />
      {children(state.data)}
    </div>
  );
}
