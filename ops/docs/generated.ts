import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandsPage } from './commands.ts'
import { configurationPage } from './configuration.ts'
import { errorsPage } from './errors.ts'
import { eventsPage } from './events.ts'
import { httpPage } from './http.ts'
import { metricsPage } from './metrics.ts'
import { readDescriptions } from './openapi.ts'
import { pictures } from './pictures/pictures.ts'
import { providersGuide } from './provider-marks.ts'
import { providersPage } from './providers.ts'

const root = join(import.meta.dirname, '..', '..')

/**
 * The generated files of docs/, by path: the reference, the facts in errors.md, the marks in
 * webhook-providers.md, and the drawn pictures. Starts a daemon for its descriptions.
 */
export async function generatedPages(): Promise<Record<string, string>> {
  const { openapi, asyncapi } = await readDescriptions()
  return {
    'reference/routes-yaml.md': configurationPage(),
    'reference/webhook-providers.md': providersPage(),
    'reference/commands.md': await commandsPage(),
    'reference/http.md': httpPage(openapi),
    'reference/events.md': eventsPage(asyncapi),
    'reference/metrics.md': await metricsPage(),
    'errors.md': errorsPage(committedPage('errors.md')),
    'webhook-providers.md': providersGuide(committedPage('webhook-providers.md')),
    ...Object.fromEntries(Object.entries(pictures).map(([name, text]) => [`images/${name}`, text])),
  }
}

/** Returns the committed text of a generated file of docs/, or an empty text. */
export function committedPage(name: string): string {
  try {
    return readFileSync(join(root, 'docs', name), 'utf8')
  } catch {
    return ''
  }
}
