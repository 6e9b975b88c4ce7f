import { html } from '../lib/html.js'
import { lazy } from '../lib/lazy.js'
import { titles } from '../lib/router.js'
import { ApprovalsPage } from './approvals.js'
import { ComposePage } from './compose.js'
import { ConfigurationPage } from './configuration.js'
import { ConversationsPage } from './conversations.js'
import { CostPage } from './cost.js'
import { DeadLettersPage } from './dead-letters.js'
import { GatewayPage, GatewaysPage } from './gateways.js'
import { MessagePage } from './message.js'
import { MessagesPage } from './messages.js'
import { NowPage } from './now.js'
import { PausedPage } from './paused.js'
import { SkillsPage } from './skills.js'

/**
 * The views, in the order of the navigation: `path` is where each is behind the `#`, `Page` gets the rest of the path and the query, and
 * `count(now)` is the number beside its name, of what wants somebody. `parts`: how many parts of a path it knows behind its own.
 */
export const VIEWS = [
  { path: 'now', title: 'Now', parts: 0, Page: NowPage },
  {
    path: 'messages',
    title: 'Messages',
    parts: 1,
    Page: ({ path: [id], query }) =>
      id ? html`<${MessagePage} key=${id} id=${id} />` : html`<${MessagesPage} query=${query} />`,
  },
  { path: 'conversations', title: 'Conversations', parts: 2, Page: ConversationsPage },
  {
    path: 'dead-letters',
    title: 'Dead letters',
    parts: 1,
    Page: DeadLettersPage,
    count: (now) => now?.deadLetters?.total,
  },
  {
    path: 'approvals',
    title: 'Approvals',
    parts: 0,
    Page: ApprovalsPage,
    count: (now) => now?.approvals,
  },
  { path: 'queues', title: 'Groups and queues', Page: lazy(() => import('./queues.js'), 'QueuesPage') },
  {
    path: 'gateways',
    title: 'Gateways',
    parts: 1,
    Page: ({ path: [name] }) =>
      name ? html`<${GatewayPage} key=${name} name=${name} />` : html`<${GatewaysPage} />`,
    count: (now) => now?.gateways?.filter(({ ok }) => !ok).length,
  },
  {
    path: 'skills',
    title: 'Skills',
    Page: ({ path: [name], query }) => html`<${SkillsPage} name=${name} query=${query} />`,
  },
  { path: 'cost', title: 'Cost', parts: 0, Page: CostPage },
  {
    path: 'paused',
    title: 'Paused',
    parts: 0,
    Page: PausedPage,
    count: (now) =>
      now?.troubles?.filter(({ code }) => code === 'paused' || code === 'subscription-paused').length,
  },
  { path: 'jobs', title: 'Jobs', parts: 0, Page: lazy(() => import('./jobs.js'), 'JobsPage') },
  { path: 'compose', title: 'Test message', parts: 0, Page: ComposePage },
  { path: 'people', title: 'People', parts: 0, Page: lazy(() => import('./people.js'), 'PeoplePage') },
  { path: 'audit', title: 'Audit', parts: 0, Page: lazy(() => import('./audit.js'), 'AuditPage') },
  { path: 'configuration', title: 'Configuration', parts: 0, Page: ConfigurationPage },
]

for (const { path, title } of VIEWS) titles.set(path, title)
