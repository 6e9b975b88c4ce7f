import { html } from '../lib/html.js'
import { later } from '../lib/later-file.js'
import { titles } from '../lib/router.js'
import { NowPage } from './now.js'

const MessagePage = later.page('MessagePage')
const MessagesPage = later.page('MessagesPage')
const GatewayPage = later.page('GatewayPage')
const GatewaysPage = later.page('GatewaysPage')
const SkillsPage = later.page('SkillsPage')

/**
 * The views in the order of the navigation. `path`: after the `#`; `Page` gets the rest of the path
 * and the query. `count(now)`: the number of things that need attention. `parts`: maximum number of
 * further path parts. `begins`: it begins a group of the navigation. `marks`: a function of the rest
 * of the path that returns the path of the view that the navigation marks, if that is another view.
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
  {
    path: 'conversations',
    title: 'Conversations',
    parts: 2,
    Page: later.page('ConversationsPage'),
    count: (now) => now?.troubles?.find(({ code }) => code === 'unanswered')?.count,
  },
  {
    path: 'dead-letters',
    title: 'Dead letters',
    begins: true,
    parts: 1,
    Page: later.page('DeadLettersPage'),
    count: (now) => now?.deadLetters?.total,
  },
  {
    path: 'approvals',
    title: 'Approvals',
    parts: 0,
    Page: later.page('ApprovalsPage'),
    count: (now) => now?.approvals,
  },
  {
    path: 'queues',
    title: 'Groups and queues',
    begins: true,
    parts: 4,
    Page: later.page('QueuesPage'),
  },
  {
    path: 'gateways',
    title: 'Gateways',
    parts: 1,
    Page: ({ path: [name], query }) =>
      name ? html`<${GatewayPage} key=${name} name=${name} query=${query} />` : html`<${GatewaysPage} />`,
    count: (now) => brokenGateways(now?.troubles),
  },
  { path: 'routes', title: 'Routes', parts: 1, Page: later.page('RoutesPage') },
  {
    path: 'skills',
    title: 'Skills',
    Page: SkillsPage,
  },
  {
    path: 'cost',
    title: 'Cost',
    parts: 0,
    Page: later.page('CostPage'),
  },
  { path: 'schedules', title: 'Schedules', parts: 2, Page: later.page('SchedulesPage') },
  {
    path: 'paused',
    title: 'Paused',
    begins: true,
    parts: 0,
    Page: later.page('PausedPage'),
    count: (now) => now?.paused,
  },
  {
    path: 'jobs',
    title: 'Jobs',
    parts: 1,
    Page: later.page('JobsPage'),
  },
  { path: 'compose', title: 'Test message', parts: 0, Page: later.page('ComposePage') },
  {
    path: 'people',
    title: 'People',
    begins: true,
    parts: 0,
    Page: later.page('PeoplePage'),
  },
  {
    path: 'audit',
    title: 'Audit',
    parts: 1,
    Page: later.page('AuditPage'),
  },
  {
    path: 'configuration',
    title: 'Configuration',
    parts: 1,
    marks: ([name]) => name && 'routes',
    Page: later.page('ConfigurationPage'),
  },
]

/** The number of gateways that do not work or refuse deliveries. */
function brokenGateways(troubles = []) {
  const broken = troubles.filter(
    ({ code, severity }) => code === 'gateway-down' || (code === 'refusals' && severity !== 'info'),
  )
  return new Set(broken.map(({ where }) => where.gateway)).size
}

for (const { path, title } of VIEWS) titles.set(path, title)
