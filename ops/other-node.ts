import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The oldest Node that Trivium runs on; the newest one is pinned in package.json and runs everything else. */
const VERSION = '24.21.0'

const cache = join(import.meta.dirname, '..', 'node_modules', '.cache')

/** The path of Node 24, which is installed from npm the first time (190 MB). Throws if that fails. */
export function otherNode(): string {
  const folder = join(cache, `node-${VERSION}`)
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const file = (parent: string) => join(parent, 'node_modules', name, 'bin', 'node')
  if (existsSync(file(folder))) return file(folder)
  const fresh = `${folder}-${process.pid}`
  mkdirSync(fresh, { recursive: true })
  writeFileSync(join(fresh, 'package.json'), '{ "private": true }')
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--prefer-offline',
    `${name}@${VERSION}`,
  ]
  const { status, stderr, error } = spawnSync('npm', args, { cwd: fresh, encoding: 'utf8' })
  if (status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    throw new Error(`Node ${VERSION} could not be installed: ${error?.message ?? stderr}`)
  }
  // Another run of the tests may have been faster.
  if (existsSync(folder)) rmSync(fresh, { recursive: true })
  else renameSync(fresh, folder)
  return file(folder)
}
