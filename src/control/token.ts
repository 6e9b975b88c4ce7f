import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The file in the data dir that holds the generated control token. */
const TOKEN_FILE = 'control-token'

/**
 * The bearer token of the control API: the given one, else the one in `<dir>/control-token`, which is made
 * on first use, readable by its owner only. Two processes that start at once agree on one.
 */
export function controlToken(dir: string, given: string | undefined): string {
  if (given) return given
  const path = join(dir, TOKEN_FILE)
  return readToken(path) ?? makeToken(path)
}

function readToken(path: string): string | undefined {
  try {
    const token = readFileSync(path, 'utf8').trim()
    if (token === '') return undefined
    chmodSync(path, 0o600)
    return token
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Links the finished file into place, which fails where another process was faster. */
function makeToken(path: string): string {
  const token = randomBytes(32).toString('base64url')
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, `${token}\n`, { mode: 0o600 })
  try {
    linkSync(temporary, path)
    return token
  } catch (error) {
    const other = readToken(path)
    if (other) return other
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}
