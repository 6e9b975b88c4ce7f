import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The oldest Node that Trivium supports. The newest one is pinned in package.json and runs
 * everything else.
 */
const VERSION = '24.21.0'

const cache = join(import.meta.dirname, '..', 'node_modules', '.cache')

/** The path of Node 24. The first call installs it from npm (190 MB), and throws if that fails. */
export function otherNode(): string {
  const folder = join(cache, `node-${VERSION}`)
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const file = (parent: string) => join(parent, 'node_modules', name, 'bin', 'node')
  if (existsSync(file(folder))) return file(folder)
  const temporary = `${folder}-${process.pid}`
  mkdirSync(temporary, { recursive: true })
  writeFileSync(join(temporary, 'package.json'), '{ "private": true }')
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--prefer-offline',
    `${name}@${VERSION}`,
  ]
  const { status, stderr, error } = spawnSync('npm', args, { cwd: temporary, encoding: 'utf8' })
  if (status !== 0) {
    rmSync(temporary, { recursive: true, force: true })
    throw new Error(`Node ${VERSION} could not be installed: ${error?.message ?? stderr}`)
  }
  // Another test run may have installed it meanwhile.
  if (existsSync(folder)) rmSync(temporary, { recursive: true })
  else renameSync(temporary, folder)
  return file(folder)
}
