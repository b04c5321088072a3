// The console begins: style sheets, texts, who is signed in, the page.
import './design/layers.css';
import './design/tokens.css';
import './design/base.css';
import './design/shell.css';
import './design/components.css';
import './design/tables.css';
import './design/windows.css';
import { render } from 'preact';
import { App } from './app/app.tsx';
import { listenToKeys } from './app/commands.ts';
import { pageOf } from './app/pages.ts';
import { askSession, watchSession } from './app/session.ts';
import { place, takeLinks } from './base/router.ts';
import { loadTexts } from './text/index.ts';
import { showUnseen } from './ui/shown.ts';

// The page's own script comes while the proxy says who is signed in.
void pageOf(place.peek().page === '' ? 'overview' : place.peek().page)?.load();
takeLinks();
showUnseen();
watchSession();
listenToKeys();
await Promise.all([loadTexts(), askSession()]);
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
