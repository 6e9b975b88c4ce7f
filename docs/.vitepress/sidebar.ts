type Item = { text: string; link: string }
type Group = { text: string; items: Item[] }

/** The order of the pages. Each page of docs/ is here once. */
export const sidebar: Group[] = [
  group('Start', { start: 'Start here', concepts: 'Concepts', comparison: 'Comparison', faq: 'FAQ' }),
  group('Receive and answer', {
    matching: 'Which messages match',
    email: 'Email',
    'email-providers': 'Email through a provider',
    slack: 'Slack',
    webhook: 'Webhooks',
    websocket: 'WebSocket',
    queues: 'BullMQ queues',
    push: 'Push events to your services',
    listen: 'Develop against real events',
    'send-later': 'Send later',
  }),
  group('Skills', {
    skills: 'Skills in code',
    models: 'Skills on a model',
    voice: 'Voice messages',
    memory: 'Memory',
    state: 'Durable state',
    approvals: 'Approvals',
    schedules: 'Schedules',
    'busy-conversations': 'Busy conversations',
    pausing: 'Pause and take over',
    assistant: 'The assistant',
    mcp: 'MCP',
  }),
  group('Operations', {
    operating: 'Operate',
    parts: 'Optional parts',
    'several-files': 'Configuration in several files',
    upgrading: 'Upgrade to 0.2',
    stability: 'Stability',
    notifications: 'Notifications',
    stores: 'Stores',
    security: 'Security',
    console: 'The console',
    'personal-data': 'Export and erase a person',
    'console-sign-in': 'Sign in to the console',
    capacity: 'Capacity',
    performance: 'Performance',
  }),
  group('Reference', {
    'reference/routes-yaml': 'routes.yaml',
    'reference/commands': 'Commands',
    api: 'Control API',
    'reference/http': 'HTTP calls',
    'reference/metrics': 'Metrics',
    errors: 'Errors',
    glossary: 'Glossary',
  }),
]

function group(text: string, pages: Readonly<Record<string, string>>): Group {
  return { text, items: Object.entries(pages).map(([page, title]) => ({ text: title, link: `/${page}` })) }
}
