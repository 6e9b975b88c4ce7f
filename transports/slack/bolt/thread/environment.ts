import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { attempt } from '../../../../src/lib/attempt.ts'
import { folderOf } from './typescript.ts'

/**
 * Adds the variables of `.env` next to the app's package.json to the environment of its thread, as
 * its start script or dotenv would. Existing variables take precedence. The environment of the
 * daemon does not change.
 */
export function readOwnEnvironment(file: string): void {
  const content = attempt(() => readFileSync(join(folderOf(file), '.env'), 'utf8'))
  for (const [name, value] of Object.entries(parseEnv(content ?? ''))) process.env[name] ??= value
}
