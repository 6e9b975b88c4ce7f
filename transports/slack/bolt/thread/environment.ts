import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { attempt } from '../../../../src/lib/attempt.ts'
import { folderOf } from './typescript.ts'

/**
 * Adds `.env` beside the app's package.json to the environment of its thread, like its start script or dotenv. Existing variables take
 * precedence. Does not affect the daemon's environment.
 */
export function readOwnEnvironment(file: string): void {
  const written = attempt(() => readFileSync(join(folderOf(file), '.env'), 'utf8'))
  for (const [name, value] of Object.entries(parseEnv(written ?? ''))) process.env[name] ??= value
}
