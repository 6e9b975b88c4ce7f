import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandsPage } from './commands.ts'
import { configurationPage } from './configuration.ts'
import { httpPage } from './http.ts'
import { metricsPage } from './metrics.ts'
import { readOpenApi } from './openapi.ts'

const root = join(import.meta.dirname, '..', '..')

/**
 * The generated pages of docs/reference: Markdown by file name. Starts a daemon for its OpenAPI
 * description.
 */
export async function generatedPages(): Promise<Record<string, string>> {
  const openapi = await readOpenApi()
  return {
    'routes-yaml.md': configurationPage(),
    'commands.md': await commandsPage(),
    'http.md': httpPage(openapi),
    'metrics.md': await metricsPage(),
  }
}

/** The committed text of a generated page; empty if there is none. */
export function committedPage(name: string): string {
  try {
    return readFileSync(join(root, 'docs', 'reference', name), 'utf8')
  } catch {
    return ''
  }
}
