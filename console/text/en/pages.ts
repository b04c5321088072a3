// The name of each page in the navigation, and the one question that it answers: its title.
export const pages = {
  overview: { name: 'Overview', question: 'Does every call get through and get recorded?' },
  calls: { name: 'Calls', question: 'Which calls were made, and what became of each?' },
  sessions: { name: 'Sessions', question: 'Which conversation caused this?' },
  spend: { name: 'Spend', question: 'Where does the money go?' },
  budgets: { name: 'Budgets', question: 'Who comes close to a limit?' },
  models: { name: 'Models', question: 'Which models are served, and are they healthy?' },
  explain: { name: 'Explain', question: 'Where would a call go?' },
  keys: { name: 'Keys', question: 'Which keys are there, and what may they do?' },
  teams: { name: 'Teams', question: 'Who works together, and what do they spend?' },
  users: { name: 'Users', question: 'Who uses this proxy?' },
  platform: { name: 'Platform', question: 'What do the agents run with?' },
  system: { name: 'System', question: 'What is served, and is the machine well?' },
};
