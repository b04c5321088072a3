// The doctor: a run on a button, its findings with what to do, and a test of the way between the proxy and this browser.
import { messageOf } from '../../base/message.ts';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, open } from '../../api/client.ts';
import { may } from '../../app/session.ts';
import { count, duration } from '../../format/numbers.ts';
import { dateTime } from '../../format/time.ts';
import { now } from '../../base/now.ts';
import { t } from '../../text/index.ts';
import { Badge, Mark, Tag, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CheckboxField } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty } from '../../ui/states.tsx';

interface Report {
  readonly at: string;
  readonly verdict: 'ok' | 'warnings' | 'errors';
  readonly summary: string;
  readonly counts: Readonly<Record<'passed' | 'skipped' | 'muted' | 'error' | 'warning' | 'info', number>>;
  readonly findings: readonly DoctorFinding[];
  readonly skipped: readonly (Check & { readonly because: string })[];
  readonly passed: readonly (Check & { readonly seen: string })[];
}

interface Check {
  readonly area: string;
  readonly check: string;
  readonly subject: string;
}

interface DoctorFinding extends Check {
  readonly code: string;
  readonly level: 'error' | 'warning' | 'info';
  readonly place: string | null;
  readonly seen: string;
  readonly meaning: string;
  readonly fix: string;
}

type Run =
  | { readonly is: 'never' }
  | { readonly is: 'running'; readonly sinceMs: number }
  | { readonly is: 'done'; readonly report: Report }
  | { readonly is: 'failed'; readonly message: string };

export function Doctor(): JSX.Element {
  const texts = t().system;
  const [run, setRun] = useState<Run>({ is: 'never' });
  const [sends, setSends] = useState(false);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const start = async (): Promise<void> => {
    const controller = new AbortController();
    abort.current = controller;
    setRun({ is: 'running', sinceMs: Date.now() });
    try {
      const { signal } = controller;
      const answer = sends
        ? await call<Report>('POST', 'doctor', { body: { send: true }, signal })
        : await call<Report>('GET', 'doctor', { signal });
      if (answer.data !== null) setRun({ is: 'done', report: answer.data });
    } catch (error) {
      if (controller.signal.aborted) return;
      setRun({ is: 'failed', message: messageOf(error) });
    }
  };
  return (
    <div class="stacked">
      <Panel
        title={texts.doctor}
        actions={
          <Button kind="primary" icon="play" busy={run.is === 'running'} onClick={() => void start()}>
            {texts.doctorRun}
          </Button>
        }
      >
        <div class="doctor-ask">
          <p class="quiet">{texts.doctorWhat}</p>
          {may('change') ? (
            <CheckboxField
              label={texts.doctorSend}
              hint={texts.doctorSendHint}
              checked={sends}
              onChange={setSends}
            />
          ) : null}
        </div>
        <Outcome run={run} />
      </Panel>
      <StreamTest />
    </div>
  );
}

const VERDICTS: Readonly<Record<Report['verdict'], Tone>> = { ok: 'good', warnings: 'warn', errors: 'bad' };
const LEVELS: Readonly<Record<DoctorFinding['level'], Tone>> = {
  error: 'bad',
  warning: 'warn',
  info: 'idle',
};

function Outcome({ run }: { run: Run }): JSX.Element {
  const texts = t().system;
  switch (run.is) {
    case 'never':
      return <Empty title={texts.doctorNever} icon="activity" />;
    case 'running':
      return (
        <p class="doctor-running" role="status">
          <Badge tone="busy">
            {texts.doctorRunning(count(Math.max(0, Math.floor((now.value - run.sinceMs) / 1000))))}
          </Badge>
          <progress aria-label={texts.doctor} />
        </p>
      );
    case 'failed':
      return (
        <p class="form-error" role="alert">
          {run.message}
        </p>
      );
    case 'done':
      return <Findings report={run.report} />;
  }
}

function Findings({ report }: { report: Report }): JSX.Element {
  const texts = t().system;
  const { counts } = report;
  return (
    <div class="doctor-report" role="status">
      <p class="doctor-verdict">
        <Badge tone={VERDICTS[report.verdict]}>{texts.doctorVerdicts[report.verdict]}</Badge>
        {report.verdict === 'ok' ? null : <span lang="en">{report.summary}</span>}
        <span class="quiet">
          {texts.doctorCounts(count(counts.passed), count(counts.skipped))} · {dateTime(report.at)}
        </span>
      </p>
      <ul class="doctor-findings" lang="en">
        {sameCause(report.findings).map((group) => (
          <FindingGroup key={`${group[0].code} ${group[0].fix}`} group={group} />
        ))}
      </ul>
      <Checks title={texts.doctorPassed} rows={report.passed.map((one) => ({ ...one, said: one.seen }))} />
      <Checks
        title={texts.doctorSkipped}
        rows={report.skipped.map((one) => ({ ...one, said: one.because }))}
      />
    </div>
  );
}

type Group = readonly [DoctorFinding, ...DoctorFinding[]];

/** Eight entries with one fault are one thing to do. */
function sameCause(findings: readonly DoctorFinding[]): readonly Group[] {
  const groups = new Map<string, [DoctorFinding, ...DoctorFinding[]]>();
  for (const one of findings) {
    const key = `${one.code} ${one.fix}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}

function FindingGroup({ group }: { group: Group }): JSX.Element {
  const texts = t().system;
  const { level, meaning, code, fix } = group[0];
  return (
    <li class={LEVELS[level]}>
      <p class="head">
        <Mark tone={LEVELS[level]} size={12} />
        <span class="hidden">{texts.levels[level]}</span>
        <strong>{meaning}</strong>
        <Tag>{code}</Tag>
        {group.length > 1 ? <Tag>×{count(group.length)}</Tag> : null}
      </p>
      <p>
        <span class="quiet">{texts.doctorFix}: </span>
        {fix}
      </p>
      <ul class="seen">
        {group.map(({ subject, place, seen }) => (
          <li key={`${subject} ${place ?? ''} ${seen}`}>
            <code>{place ?? subject}</code> <span class="quiet">{seen}</span>
          </li>
        ))}
      </ul>
    </li>
  );
}

function Checks({
  title,
  rows,
}: {
  title: string;
  rows: readonly (Check & { readonly said: string })[];
}): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>
        {title} ({count(rows.length)})
      </summary>
      <ul class="doctor-checks" lang="en">
        {rows.map(({ area, check, subject, said }) => (
          <li key={`${area} ${check} ${subject}`}>
            <span>{check}</span>
            <span class="quiet">{subject}</span>
            <span class="quiet">{said}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface Arrival {
  readonly n: number;
  readonly sentMs: number;
  readonly gotMs: number;
}

/** Sent 200 ms apart: what comes closer together than this was collected on the way. */
const COLLECTED_MS = 100;

function StreamTest(): JSX.Element {
  const texts = t().system;
  const [arrivals, setArrivals] = useState<readonly Arrival[]>([]);
  const [state, setState] = useState<'idle' | 'running' | 'done'>('idle');
  const [error, setError] = useState<string | null>(null);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async (): Promise<void> => {
    const { signal } = (abort.current = new AbortController());
    setArrivals([]);
    setError(null);
    setState('running');
    try {
      const began = performance.now();
      const response = await open('GET', 'doctor/stream', { signal });
      for await (const { n, sent_ms } of events(response)) {
        const gotMs = performance.now() - began;
        setArrivals((before) => [...before, { n, sentMs: sent_ms, gotMs }]);
      }
    } catch (thrown) {
      if (signal.aborted) return; // nobody looks any more
      setError(messageOf(thrown));
    }
    setState('done');
  };
  const first = arrivals[0];
  const last = arrivals.at(-1);
  const spreadMs = first === undefined || last === undefined ? 0 : last.gotMs - first.gotMs;
  const isGood = spreadMs > COLLECTED_MS * 2;
  return (
    <Panel
      title={texts.stream}
      actions={
        <Button busy={state === 'running'} onClick={() => void run()}>
          {texts.streamRun}
        </Button>
      }
    >
      <p class="quiet">{texts.streamWhat}</p>
      <ul class="arrivals" aria-live="polite">
        {arrivals.map(({ n, sentMs, gotMs }) => (
          <li key={n}>{texts.streamEvent(count(n), duration(sentMs), duration(gotMs))}</li>
        ))}
      </ul>
      {error === null ? null : (
        <p class="form-error" role="alert">
          {error}
        </p>
      )}
      {state === 'done' && error === null ? (
        <Badge tone={isGood ? 'good' : 'warn'}>{isGood ? texts.streamGood : texts.streamBad}</Badge>
      ) : null}
    </Panel>
  );
}

interface StreamEvent {
  readonly n: number;
  readonly sent_ms: number;
}

async function* events(response: Response): AsyncGenerator<StreamEvent> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    text += piece.value;
    const whole = text.split('\n\n');
    text = whole.pop() ?? '';
    for (const one of whole) {
      const data = one.replace(/^data: /, '');
      if (data.startsWith('{')) yield JSON.parse(data) as StreamEvent;
    }
  }
}
