// Metrics of teams: what the key of a call, else its deployment, says. The number of teams shown is bounded.
import { Gauge, type Registry } from 'prom-client';
import { dollarsOf } from '../spend/record/cost.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import { OTHER, type LabelValues } from './label-values.ts';
import { talliedCounter, type Tally } from './tally.ts';

interface TeamMetrics {
  readonly observe: (record: SpendRecord) => void;
  /** `aliasOf`: the name of a team, asked at every scrape. */
  readonly watch: (aliasOf: (id: string) => string | null) => void;
}

interface TeamHandles {
  readonly success: Tally;
  readonly failure: Tally;
  readonly spend: Tally;
  readonly prompt: Tally;
  readonly completion: Tally;
}

/** Adds the metrics to a registry. */
export function addTeamMetrics(registry: Registry, labels: LabelValues): TeamMetrics {
  const requests = talliedCounter(
    registry,
    'throughline_team_requests_total',
    'Calls by team and status; the team is empty for calls of none.',
    ['team', 'status'],
    labels,
  );
  const spend = talliedCounter(
    registry,
    'throughline_team_spend_usd_total',
    'Cost of requests by team, US dollars.',
    ['team'],
    labels,
  );
  const tokens = talliedCounter(
    registry,
    'throughline_team_tokens_total',
    'Tokens by team: prompt and completion.',
    ['team', 'kind'],
    labels,
  );
  const teams = new Map<string, TeamHandles>();
  const handlesOf = (team: string): TeamHandles => {
    const known = teams.get(team);
    if (known !== undefined) return known;
    const handles = {
      success: requests(team, 'success'),
      failure: requests(team, 'failure'),
      spend: spend(team),
      prompt: tokens(team, 'prompt'),
      completion: tokens(team, 'completion'),
    };
    teams.set(team, handles);
    return handles;
  };
  const forget = (label: string, ids: ReadonlySet<string>): void => {
    if (label === 'team') for (const id of ids) teams.delete(id);
  };
  labels.follow({
    forget,
    fold: (label, ids) => {
      if (label === 'team') handlesOf(OTHER);
      forget(label, ids);
    },
  });
  return {
    observe: (record) => {
      const handles = handlesOf(labels.team(record.teamId));
      handles[record.status].add(1);
      if (record.spendPico !== null) handles.spend.add(dollarsOf(record.spendPico));
      if (record.tokens.prompt !== null) handles.prompt.add(record.tokens.prompt);
      if (record.tokens.completion !== null) handles.completion.add(record.tokens.completion);
    },
    watch: (aliasOf) => {
      new Gauge({
        name: 'throughline_team_info',
        help: 'The alias of each team that other metrics name by its id; 1.',
        labelNames: ['team', 'alias'],
        aggregator: 'max',
        registers: [registry],
        collect() {
          this.reset();
          for (const team of teams.keys())
            if (labels.shows('team', team)) this.set({ team, alias: shownAs(team, aliasOf) }, 1);
        },
      });
    },
  };
}

function shownAs(team: string, aliasOf: (id: string) => string | null): string {
  if (team === '') return 'no team';
  return team === OTHER ? 'other teams' : (aliasOf(team) ?? team);
}
