/** The guide of each section of routes.yaml, and of each kind of gateway. */
const GUIDES: Readonly<Record<string, readonly [title: string, page: string]>> = {
  'transport: bullmq': ['BullMQ queues', 'queues.md#jobs-as-messages'],
  'transport: cli': ['Command line', 'command-line.md'],
  'transport: email': ['Email', 'email.md'],
  'transport: slack': ['Slack', 'slack.md'],
  'transport: webhook': ['Webhooks', 'webhook.md'],
  'transport: websocket': ['WebSocket', 'websocket.md'],
  include: ['Several files', 'several-files.md'],
  daemon: ['Settings of the daemon', 'settings.md'],
  routes: ['Routes', 'routes.md'],
  topics: ['Events', 'events.md'],
  subscriptions: ['Push', 'push.md'],
  schedules: ['Schedules', 'schedules.md'],
  notify: ['Notifications', 'notifications.md'],
  access: ['Roles and approvals', 'approvals.md#roles'],
  assistant: ['Assistant', 'assistant.md'],
  console: ['Console sign-in', 'console-sign-in.md'],
  tokens: ['Tokens for programs', 'security.md#tokens-for-programs'],
  mcp: ['MCP', 'mcp.md#use-tools-of-other-mcp-servers'],
  transcribe: ['Voice messages', 'voice.md'],
  model: ['Skills on a model', 'models.md'],
  skills: ['Skills', 'skills.md'],
  redis: ['Stores', 'stores.md'],
  queues: ['BullMQ queues', 'queues.md'],
}

/** A line with the guide of a section. Throws for a section without one. */
export function guideOf(section: string): string {
  const guide = GUIDES[section]
  if (!guide) throw new Error(`ops/docs/guides.ts names no guide for ${section}`)
  const [title, page] = guide
  return `Guide: [${title}](../${page}).`
}
