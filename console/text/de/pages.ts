// Der Name jeder Seite in der Navigation, und die eine Frage, die sie beantwortet: ihr Titel.
import type { Texts } from '../index.ts';

export const pages: Texts['pages'] = {
  overview: { name: 'Übersicht', question: 'Kommt jeder Aufruf durch und wird aufgezeichnet?' },
  calls: { name: 'Aufrufe', question: 'Welche Aufrufe gab es, und was wurde daraus?' },
  sessions: { name: 'Sitzungen', question: 'Welche Unterhaltung war das?' },
  spend: { name: 'Kosten', question: 'Wohin geht das Geld?' },
  budgets: { name: 'Budgets', question: 'Wer kommt einer Grenze nahe?' },
  models: { name: 'Modelle', question: 'Welche Modelle gibt es, und geht es ihnen gut?' },
  explain: { name: 'Erklären', question: 'Wohin ginge ein Aufruf?' },
  keys: { name: 'Schlüssel', question: 'Welche Schlüssel gibt es, und was dürfen sie?' },
  teams: { name: 'Teams', question: 'Wer arbeitet zusammen, und was kostet es?' },
  users: { name: 'Nutzer', question: 'Wer benutzt diesen Proxy?' },
  platform: { name: 'Plattform', question: 'Womit laufen die Agenten?' },
  system: { name: 'System', question: 'Was gilt, und geht es der Maschine gut?' },
};
