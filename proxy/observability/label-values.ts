// The values of the labels `team` and `gateway`: a bounded number of them are named, all others are counted together. Values come from
// the configuration and from the objects that administrators make, never from a request. Which ones are named is decided at each
// scrape and once for all processes (`label-names.ts`); until then a process counts new values by themselves, so that one that gets a
// name is whole. What was counted as `other` stays there: a counter that goes back looks like a restart.
import { BOUNDED_LABELS, type BoundedLabel, type LabelWishes, type NamedValues } from './label-names.ts';

/** What values without a name are counted as. */
export const OTHER = 'other';
/** As `general_settings.max_metric_label_values` has it when nobody set it. */
const DEFAULT_MOST = 100;
/** New values of a label that a process counts by themselves until the next scrape: some 1 KB each. */
const MOST_WAITING = 1_000;

type ByLabel<T> = Readonly<Record<BoundedLabel, T>>;

/** Counts of a bounded label. */
interface LabelledCounts {
  /** What these have counted is that of `other` from now on; they may count further. */
  readonly fold: (label: BoundedLabel, values: ReadonlySet<string>) => void;
  /** What these have counted is gone. */
  readonly forget: (label: BoundedLabel | 'model_id', values: ReadonlySet<string>) => void;
}

/** What is in use beside the objects of administrators. */
interface ConfiguredValues {
  /** Ids. */
  readonly teams: Iterable<string>;
  /** Addresses. */
  readonly gateways: Iterable<string>;
  /** Ids. */
  readonly deployments: Iterable<string>;
}

export class LabelValues {
  readonly #counts: LabelledCounts[] = [];
  readonly #named = { team: new Set<string>(), gateway: new Set<string>() };
  /** Counted by themselves, and not named; true = the process has asked for a name. */
  readonly #waiting: ByLabel<Map<string, boolean>> = { team: new Map(), gateway: new Map() };
  #most = DEFAULT_MOST;
  #configured: ByLabel<ReadonlySet<string>> | null = null;
  #deployments: ReadonlySet<string> | null = null;
  /** Configured no more, with counts that go with the next scrape; true = said to whoever names values, who may not have heard it. */
  readonly #goneDeployments = new Map<string, boolean>();
  #isTeam: (id: string) => boolean = () => true;

  /** A lower limit takes no name away. */
  use(most: number, { teams, gateways, deployments }: ConfiguredValues): void {
    this.#most = most;
    const now = new Set(deployments);
    for (const id of this.#deployments ?? []) if (!now.has(id)) this.#goneDeployments.set(id, false);
    for (const [id, isSaid] of this.#goneDeployments)
      if (!isSaid && now.has(id)) this.#goneDeployments.delete(id);
    this.#deployments = now;
    this.#configured = { team: new Set(teams), gateway: new Set(Array.from(gateways, hostOf)) };
  }

  /** @param isTeam whether administrators have a team, or a key of it */
  watchTeams(isTeam: (id: string) => boolean): void {
    this.#isTeam = isTeam;
  }

  /** Whether a deployment is configured. */
  isDeployment(id: string): boolean {
    return this.#deployments?.has(id) !== false;
  }

  follow(counts: LabelledCounts): void {
    this.#counts.push(counts);
  }

  /** What calls of a team are counted as. */
  team(id: string | null): string {
    if (id === null || id === '') return '';
    if (this.#named.team.has(id) || this.#waiting.team.has(id)) return id;
    if (this.#named.team.size >= this.#most) return OTHER;
    return this.#wait('team', id);
  }

  /** The same of an address: host and port, its path, user and query say nothing that a label should. Whoever counts keeps it. */
  gateway(apiBase: string): string {
    if (apiBase === '') return '';
    const host = hostOf(apiBase);
    if (this.#named.gateway.has(host) || this.#waiting.gateway.has(host)) return host;
    return this.#wait('gateway', host);
  }

  #wait(label: BoundedLabel, value: string): string {
    const waiting = this.#waiting[label];
    if (value === OTHER || waiting.size >= MOST_WAITING || this.#isGone(label, value)) return OTHER;
    waiting.set(value, false);
    return value;
  }

  /** Whether metrics show what is counted as this. */
  shows(label: BoundedLabel, value: string): boolean {
    return value === '' || value === OTHER || this.#named[label].has(value);
  }

  /** What a scrape begins with. */
  wishes(): LabelWishes {
    const wanted = (label: BoundedLabel): readonly string[] => {
      const waiting = this.#waiting[label];
      for (const value of waiting.keys()) waiting.set(value, true);
      return [...waiting.keys()].filter((value) => !this.#isGone(label, value));
    };
    const gone = (label: BoundedLabel): readonly string[] =>
      [...this.#named[label]].filter((value) => this.#isGone(label, value));
    const goneDeployments = [...this.#goneDeployments.keys()];
    for (const id of goneDeployments) this.#goneDeployments.set(id, true);
    return {
      most: this.#most,
      goneDeployments,
      wanted: { team: wanted('team'), gateway: wanted('gateway') },
      gone: { team: gone('team'), gateway: gone('gateway') },
    };
  }

  /** These have names. What had one loses what it has counted, what asked for one in vain is `other`. */
  name(named: NamedValues): void {
    this.#forgetDeployments();
    for (const label of BOUNDED_LABELS) {
      const now = new Set(named[label]);
      const waiting = this.#waiting[label];
      const lost = new Set([...this.#named[label]].filter((value) => !now.has(value)));
      const refused = new Set<string>();
      for (const [value, hasAsked] of waiting)
        if (now.has(value)) waiting.delete(value);
        else if (hasAsked) refused.add(value);
      if (lost.size > 0) for (const counts of this.#counts) counts.forget(label, lost);
      if (refused.size > 0) for (const counts of this.#counts) counts.fold(label, refused);
      this.#named[label] = now;
      for (const value of refused) if (label === 'team' || this.#isGone(label, value)) waiting.delete(value);
      for (const value of lost)
        if (label === 'gateway' && !this.#isGone(label, value)) waiting.set(value, false); // its handles are in use
    }
  }

  /** Those that were said: until then other processes are shown with their counts, and a part of them would look like a restart. */
  #forgetDeployments(): void {
    const said = new Set([...this.#goneDeployments].filter(([, isSaid]) => isSaid).map(([id]) => id));
    if (said.size === 0) return;
    for (const counts of this.#counts) counts.forget('model_id', said);
    for (const id of said) this.#goneDeployments.delete(id);
  }

  #isGone(label: BoundedLabel, value: string): boolean {
    if (this.#configured === null || this.#configured[label].has(value)) return false;
    return label === 'gateway' || !this.#isTeam(value);
  }
}

/** How the metrics call the gateway at an address. */
export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : OTHER;
}
