import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the clone. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const modules = join(root, 'node_modules')
const lockFile = join(root, 'package-lock.json')
const installedFile = join(modules, '.package-lock.json')
const stampFile = join(modules, '.trivium-set-up')
const pinnedNode = join(modules, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
const OLDEST_NODE = 24

/**
 * Installs the packages of package-lock.json, the pinned Node and the `npx trivium` link if they
 * are missing, and returns the path of the Node to use. Takes milliseconds if nothing is missing.
 * If something cannot be installed, it prints what to do and exits with 1. Runs on Node 20.
 *
 * @returns {Promise<string>}
 */
export async function setUp() {
  if (!isStamped()) {
    if (!isInstalled()) install()
    writeFileSync(stampFile, stamp())
  }
  if (!existsSync(join(modules, '.bin', 'trivium'))) await import('./link.mjs')
  return findNode()
}

/** Whether this state of node_modules is known to be complete. */
function isStamped() {
  try {
    return readFileSync(stampFile, 'utf8') === stamp()
  } catch {
    return false
  }
}

/** Identifies a lock file, a platform and a state of node_modules. */
function stamp() {
  const lock = createHash('sha256').update(readFileSync(lockFile)).digest('hex')
  const { mtimeMs, size } = statSync(installedFile)
  return [lock, process.platform, process.arch, mtimeMs, size].join('\n')
}

/**
 * Whether node_modules has each package of the lock file, as after a developer's own `npm install`.
 */
function isInstalled() {
  if (!existsSync(installedFile)) return false
  const locked = JSON.parse(readFileSync(lockFile, 'utf8')).packages
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages
  return Object.entries(locked).every(
    ([path, entry]) => path === '' || installed[path]?.version === entry.version || !isNeeded(entry),
  )
}

/**
 * Whether npm installs a package on this machine. It leaves out optional packages for other
 * platforms. Those for one C library do not count, because only npm knows which one this machine
 * has.
 */
function isNeeded({ optional, os, cpu, libc }) {
  if (!optional) return true
  return Boolean(!libc && os?.includes(process.platform) && (!cpu || cpu.includes(process.arch)))
}

/**
 * Runs `npm install`, not `npm ci`: it takes the same versions from the lock file, but adds only
 * what is missing, and it accepts a lock file from a registry that lacks packages for other
 * platforms.
 */
function install() {
  const start = Date.now()
  process.stderr.write('Setting up (once): installing packages and the pinned Node … ')
  const { command, args, env } = npm([
    'install',
    '--no-save',
    '--include=dev',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ])
  const result = spawnSync(command, args, {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    shell: process.platform === 'win32',
  })
  if (result.status !== 0) fail(installFailure(result))
  process.stderr.write(`done in ${Math.round((Date.now() - start) / 1000)} s\n`)
}

/**
 * The npm that started this process, or the one on the path. It is never run by a Node in
 * node_modules, which it may replace.
 */
function npm(args) {
  const { npm_execpath: npmFile, ...env } = process.env
  if (npmFile && /npm-cli\.[cm]?js$/.test(npmFile) && !process.execPath.startsWith(modules)) {
    return { command: process.execPath, args: [npmFile, ...args], env }
  }
  const path = (env.PATH ?? '').split(delimiter).filter((entry) => !entry.startsWith(modules))
  return { command: 'npm', args, env: { ...env, PATH: path.join(delimiter) } }
}

function installFailure({ error, status, signal, stderr }) {
  if (error) return `npm cannot be run: ${error.message}`
  if (signal) return `npm install was ended by ${signal}.`
  const isOffline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|network/.test(stderr)
  const advice = isOffline
    ? 'The npm registry cannot be reached. Check the network, and the proxy and registry settings of npm; then run this again.'
    : 'Run this again; if it fails again, delete node_modules first.'
  return `npm install failed (exit code ${status}):\n${stderr.trim()}\n\n${advice}`
}

/**
 * The pinned Node; without it (install scripts may be disabled) the running one, if it is new
 * enough.
 */
function findNode() {
  if (existsSync(pinnedNode)) return pinnedNode
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) return process.execPath
  return fail(
    `Trivium needs Node ${OLDEST_NODE} or newer; this is ${process.versions.node}. The pinned Node is not installed, ` +
      'because npm ran no install scripts.\nRun `rm -rf node_modules && npm_config_ignore_scripts=false npm start` ' +
      'once, or put a newer Node on the path.',
  )
}

function fail(message) {
  process.stderr.write(`\n${message}\n`)
  process.exit(1)
}
