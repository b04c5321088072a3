// Texte, die jede Seite braucht.
import type { Texts } from '../index.ts';

export const common: Texts['common'] = {
  product: 'Throughline',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyFailed:
    'Dieser Browser lässt Seiten nur über https oder auf diesem Rechner kopieren. Markieren Sie den Text stattdessen.',
  close: 'Schließen',
  cancel: 'Abbrechen',
  save: 'Speichern',
  unsaved: 'Was Sie hier geändert haben, ist nicht gespeichert. Noch einmal schließen verwirft es.',
  retry: 'Erneut versuchen',
  search: 'Suchen',
  all: 'Alle',
  yes: 'Ja',
  no: 'Nein',
  none: 'Keine',
  unknown: 'Nicht bekannt',
  more: 'Mehr',
  day: 'Tag',
  sortBy: (column) => `Nach ${column} sortieren`,
  dropFilter: (name, value) => `Filter entfernen: ${name} ${value}`,
  clearFilters: 'Alle entfernen',
  perMinute: '/min',
  pagesOfList: 'Seiten der Liste',
  pageOf: (page, pages) => `Seite ${page} von ${pages}`,
  previousPage: 'Zurück',
  nextPage: 'Weiter',
  firstOf: (shown, all) => `Die ersten ${shown} von ${all}`,
  showMore: 'Weitere zeigen',
  pastEnd: 'Die Liste endet vor dieser Seite.',
  lastPage: 'Zu ihrer letzten Seite',
  updated: (when) => `Stand ${when}`,
};

export const states: Texts['states'] = {
  loading: 'Lädt',
  tooLong: 'Das dauert ungewöhnlich lange. Eine engere Frage ist schneller beantwortet.',
  stale: (when) => `Stand ${when}`,
  forbidden: 'Diese Seite ist nicht für Ihre Rolle.',
  forbiddenWhy: 'Melden Sie sich mit dem Hauptschlüssel oder dem Schlüssel eines Administrators an.',
  switchedOff: 'Diese Seite ist an diesem Proxy ausgeschaltet.',
  switchedOffWhy: (section) =>
    `Der Abschnitt ${section} der Konfiguration schaltet sie ein; siehe docs/${section}.md.`,
  notFound: 'Diese Seite gibt es nicht.',
  notFoundWhy: 'Die Adresse ist vielleicht aus einer neueren Version oder hat einen Tippfehler.',
  toOverview: 'Zur Übersicht',
  notFetched: 'Der Proxy hat diese Seite nicht gesandt.',
  notFetchedWhy:
    'Er antwortet nicht oder hat seit einer Aktualisierung eine andere Fassung. Erneut versuchen lädt die Seite neu.',
  crashed: 'In dieser Seite ist ein Fehler aufgetreten.',
  crashedWhy:
    'Der Proxy ist nicht betroffen. Laden Sie die Seite neu; kommt es wieder vor, melden Sie den Text unten.',
  sides: {
    network: 'Keine Antwort',
    caller: 'Der Proxy hat das abgelehnt',
    proxy: 'Der Proxy ist daran gescheitert',
  },
};

/** Der Rahmen aller Seiten. */
export const shell: Texts['shell'] = {
  skip: 'Zum Inhalt',
  navigation: 'Seiten',
  openMenu: 'Menü öffnen',
  closeMenu: 'Menü schließen',
  groups: {
    watch: 'Beobachten',
    money: 'Kosten',
    serve: 'Bereitstellen',
    access: 'Zugang',
    machine: 'Maschine',
  },
  palette: 'Gehe zu',
  paletteHint: 'Seite, Modell oder ID',
  paletteEmpty: 'So heißt nichts. Enter sucht einen Aufruf mit dieser ID.',
  paletteModels: 'Modelle',
  palettePages: 'Seiten',
  paletteActions: 'Schritte',
  findCall: (id) => `Aufruf ${id} suchen`,
  help: 'Tasten',
  theme: 'Aussehen',
  themes: { auto: 'Auto', light: 'Hell', dark: 'Dunkel' },
  language: 'Sprache',
  clock: 'Uhr',
  clockTitle: 'Zeiten sind UTC. Klick oder u zeigt die Uhr dieses Rechners.',
  clockLocalTitle: 'Zeiten sind die dieses Rechners. Klick oder u zeigt UTC.',
  signOut: 'Abmelden',
  stillIn: (why) => `Sie sind noch angemeldet: ${why}`,
  signedInAs: 'Angemeldet als',
  roles: {
    admin: 'Administrator',
    viewer: 'Leser',
    user: 'Nutzer',
    user_viewer: 'Nutzer, nur lesend',
    key: 'Schlüssel',
  },
  insecure:
    'Diese Seite kam über http ohne Verschlüsselung: wer mithört, kann die Sitzung übernehmen. Stellen Sie sie über https bereit.',
  openToAll:
    'Es ist kein Hauptschlüssel gesetzt: wer diese Seite erreicht, ist Administrator. Setzen Sie general_settings.master_key.',
  away: 'Der Proxy antwortet nicht. Die Seite zeigt, was er zuletzt sagte, und versucht es von selbst wieder.',
  draining: 'Dieser Proxy beendet sich: er führt laufende Aufrufe zu Ende und nimmt keine neuen an.',
  unwritable: 'Aufrufe werden nicht aufgezeichnet: das Journal kann nicht geschrieben werden.',
  atRisk: (rows) => `${rows} Aufzeichnungen stehen nur im Speicher und gingen mit dem Prozess verloren.`,
  storeAway:
    'Die Datenbank antwortet nicht. Aufrufe werden bedient und im Journal vermerkt; die Zeilen folgen.',
  refused: 'Die letzte Änderung der Konfiguration wurde abgelehnt; die vorige gilt weiter.',
  undelivered: (alerts) =>
    alerts === '1'
      ? 'Eine Meldung des letzten Tages hat einen Empfänger nicht erreicht.'
      : `${alerts} Meldungen des letzten Tages haben einen Empfänger nicht erreicht.`,
  seeSystem: 'Zur Systemseite',
};

export const keys: Texts['keys'] = {
  title: 'Tasten',
  everywhere: 'Überall',
  inLists: 'In Listen',
  pages: 'Seiten',
  switch: 'Tasten sind eingeschaltet',
  switchHint: 'Strg+K und Esc gelten immer.',
  list: {
    help: 'Diese Liste',
    filter: 'Zum Filter',
    palette: 'Zu einer Seite, einem Modell, einer ID',
    refresh: 'Jetzt neu fragen',
    zone: 'UTC oder die Uhr dieses Rechners',
    theme: 'Hell oder dunkel',
    next: 'Nächste Zeile',
    previous: 'Vorige Zeile',
    open: 'Zeile öffnen',
    copy: 'ID kopieren',
    close: 'Schließen, was offen ist',
  },
};

export const login: Texts['login'] = {
  title: 'Anmelden',
  key: 'Schlüssel',
  keyHint:
    'Der Hauptschlüssel oder ein virtueller Schlüssel. Er geht einmal an den Proxy und bleibt nicht in diesem Browser.',
  submit: 'Anmelden',
  with: (provider) => `Anmelden mit ${provider}`,
  or: 'oder',
  missing: 'Geben Sie einen Schlüssel ein.',
  wrong: 'Dieser Schlüssel ist hier nicht bekannt.',
  tooMany: (wait) => `Zu viele Versuche. Versuchen Sie es in ${wait} wieder.`,
  why: {
    none: '',
    left: 'Sie haben sich abgemeldet.',
    expired: 'Ihre Sitzung ist abgelaufen. Nach der Anmeldung ist die Seite, wie sie war.',
    idle: 'Sie wurden abgemeldet, weil die Seite eine Weile nicht benutzt wurde.',
    revoked: 'Diese Sitzung wurde beendet: jemand hat sich abgemeldet, oder der Schlüssel gilt nicht mehr.',
  },
  again: 'Was offen war, bleibt offen, auch was Sie getippt haben. Für jemand anderen beginnt die Seite neu.',
  inNewTab: 'Das öffnet einen neuen Tab. Kommen Sie danach zu diesem zurück.',
  provider: {
    unavailable:
      'Der Anmeldedienst antwortet nicht. Nehmen Sie einen Schlüssel, oder versuchen Sie es später.',
    no_role: 'Der Anmeldedienst kennt Sie, aber keine Ihrer Gruppen darf diese Konsole benutzen.',
    expired: 'Die Anmeldung dauerte zu lange oder begann in einem anderen Browser. Versuchen Sie es erneut.',
    refused: 'Der Anmeldedienst hat die Anmeldung abgelehnt.',
    off: 'Die Anmeldung über einen Dienst ist hier ausgeschaltet. Nehmen Sie einen Schlüssel.',
    loop: 'Die Anmeldung lief im Kreis und wurde angehalten. Vielleicht sind Cookies ausgeschaltet.',
  },
  away: 'Der Proxy antwortet nicht.',
  awayWhy: 'Diese Seite wurde früher geladen. Sie fragt alle paar Sekunden wieder.',
};
