import { readFileSync } from 'node:fs'

type Item = { text: string; link: string }
type Group = { text: string; items: Item[] }

/** The order of the pages. Each page of docs/ is here once, under its own title, except those for maintainers in docs/internals. */
export const sidebar: Group[] = [
  group('Start', ['start', 'concepts', 'comparison', 'faq']),
  group('Receive and send', [
    'routes',
    'email',
    'email-providers',
    'email-in-depth',
    'slack',
    'bolt',
    'webhook',
    'webhook-providers',
    'websocket',
    'queues',
    'push',
    'send-later',
    'listen',
  ]),
  group('Skills', [
    'skills',
    'models',
    'memory',
    'state',
    'approvals',
    'schedules',
    'busy-conversations',
    'pausing',
    'voice',
    'assistant',
    'mcp',
  ]),
  group('Operations', [
    'operating',
    'failures',
    'command-line',
    'parts',
    'several-files',
    'data-directory',
    'stores',
    'security',
    'notifications',
    'console',
    'console-sign-in',
    'audit',
    'personal-data',
    'capacity',
    'performance',
    'stability',
    'upgrading',
  ]),
  group('Reference', [
    'reference/routes-yaml',
    'reference/commands',
    'api',
    'reference/http',
    'reference/metrics',
    'errors',
    'glossary',
    'workbench',
  ]),
]

function group(text: string, pages: readonly string[]): Group {
  return { text, items: pages.map((page) => ({ text: titleOf(page), link: `/${page}` })) }
}

function titleOf(page: string): string {
  const text = readFileSync(new URL(`../${page}.md`, import.meta.url), 'utf8')
  const title = /^# (.+)$/m.exec(text)?.[1]
  if (title === undefined) throw new Error(`docs/${page}.md has no title`)
  return title
}
