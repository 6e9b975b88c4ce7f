import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { reasonOf, TriviumError } from '../core/errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The environment with what `.env` in the working directory adds; a variable that is set already wins.
 * Throws `config_invalid` where `.env` is there but cannot be read.
 */
export async function readEnvironment(cwd: string, env: Environment): Promise<Environment> {
  const path = join(cwd, '.env')
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return env
    throw new TriviumError(
      'config_invalid',
      { details: `.env  cannot be read: ${reasonOf(error)}` },
      { cause: error },
    )
  }
  return { ...parseEnv(text), ...env }
}
