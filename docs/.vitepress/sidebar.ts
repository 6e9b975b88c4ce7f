import { readFileSync } from 'node:fs'

type Item = { text: string; link: string }
type Group = { text: string; items: (Item | Group)[]; collapsed?: boolean }

/** The order of the pages. Each page of docs/ is here once, under its own title, except those for maintainers in docs/internals. */
export const sidebar: Group[] = [
  group('Start', ['start', 'concepts', 'comparison', 'faq', 'glossary']),
  group('Skills', [
    'skills',
    'models',
    'memory',
    'once',
    'callbacks',
    'state',
    'approvals',
    'schedules',
    'mcp',
    'voice',
    'assistant',
    'workbench',
  ]),
  group('Messages', [
    'routes',
    'workers',
    'events',
    'push',
    'send',
    'send-later',
    'busy-conversations',
    'pausing',
    'listen',
  ]),
  group('Gateways', [
    'webhook',
    'webhook-providers',
    'chats',
    'webhook-in-depth',
    'email',
    'email-providers',
    'email-in-depth',
    'slack',
    'slack-in-depth',
    'bolt',
    'websocket',
    'queues',
  ]),
  {
    text: 'Operations',
    items: [
      folded('Install and configure', [
        'operating',
        'systemd',
        'docker',
        'kubernetes',
        'settings',
        'command-line',
        'other-machines',
        'parts',
        'several-files',
        'stores',
        'data-directory',
      ]),
      folded('Watch and repair', [
        'failures',
        'monitoring',
        'notifications',
        'backup',
        'moving',
        'console',
        'console-sign-in',
        'audit',
      ]),
      folded('Security and privacy', ['security', 'personal-data']),
      folded('Size and versions', ['capacity', 'performance', 'stability', 'new-versions', 'upgrading']),
    ],
  },
  group('Reference', [
    'reference/routes-yaml',
    'reference/webhook-providers',
    'reference/commands',
    'api',
    'reference/http',
    'reference/events',
    'reference/metrics',
    'errors',
  ]),
]

/** The pages of a part of the sidebar, in order. */
export function itemsOf(groups: readonly (Item | Group)[]): Item[] {
  return groups.flatMap((entry) => ('items' in entry ? itemsOf(entry.items) : [entry]))
}

function folded(text: string, pages: readonly string[]): Group {
  return { ...group(text, pages), collapsed: true }
}

function group(text: string, pages: readonly string[]): Group {
  return { text, items: pages.map((page) => ({ text: titleOf(page), link: `/${page}` })) }
}

function titleOf(page: string): string {
  const text = readFileSync(new URL(`../${page}.md`, import.meta.url), 'utf8')
  const title = /^# (.+)$/m.exec(text)?.[1]
  if (title === undefined) throw new Error(`docs/${page}.md has no title`)
  return title
}
