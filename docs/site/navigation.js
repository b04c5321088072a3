// What is on the documentation site and in which order; a test holds it against the files. A group is a heading of the
// navigation; a folder stands for all of its pages, by name.

/** @type {readonly { readonly title: string; readonly pages: readonly string[] }[]} */
export const NAVIGATION = [
  {
    title: 'Begin',
    pages: ['README.md', 'docs/install.md', 'docs/kubernetes.md', 'docs/migrate-from-litellm.md'],
  },
  {
    title: 'The chain',
    pages: [
      'docs/chain.md',
      'docs/compatibility.md',
      'docs/providers.md',
      'docs/protocols.md',
      'docs/realtime.md',
      'docs/agents.md',
      'docs/identity.md',
      'docs/doctor.md',
      'docs/find-a-fault.md',
      'docs/reliability.md',
      'docs/endpoints.md',
      'docs/errors.md',
    ],
  },
  {
    title: 'Keys and money',
    pages: [
      'docs/keys.md',
      'docs/keys-api.md',
      'docs/teams-api.md',
      'docs/budgets.md',
      'docs/brake.md',
      'docs/spend.md',
      'docs/reconcile.md',
    ],
  },
  {
    title: 'Operate',
    pages: [
      'docs/configuration.md',
      'docs/command-line.md',
      'docs/secrets.md',
      'docs/operating.md',
      'docs/capacity.md',
      'docs/monitoring.md',
      'docs/console.md',
      'docs/alerts.md',
      'SECURITY.md',
      'charts/throughline/README.md',
    ],
  },
  { title: 'Runbooks', pages: ['docs/runbooks/'] },
  {
    title: 'Agent platforms',
    pages: [
      'docs/openhands.md',
      'docs/platform.md',
      'docs/platform-page.md',
      'docs/platform-conversations.md',
      'docs/platform-data.md',
      'docs/platform-settings.md',
      'docs/platform-sandboxes.md',
      'docs/platform-provisioning.md',
      'docs/platform-operations.md',
      'docs/platform-differences.md',
      'docs/platform-proofs.md',
    ],
  },
  {
    title: 'How it is built',
    pages: [
      'docs/principles.md',
      'docs/layers.md',
      'docs/life-of-a-request.md',
      'docs/performance.md',
      'bench/README.md',
      'test/battery/README.md',
      'docs/keys-behaviours.md',
      'docs/litellm-behaviours.md',
      'docs/compatibility-litellm-tests.md',
      'docs/compare.md',
      'CONTRIBUTING.md',
      'CHANGELOG.md',
    ],
  },
  { title: 'Decisions', pages: ['docs/decisions/'] },
];
