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
 * Makes sure that the packages of package-lock.json, the pinned Node and the `npx trivium` link are
 * there, and returns the Node to go on with. Costs milliseconds when nothing is missing. Where
 * something cannot be had it says what to do and exits with 1. Runs on Node 20.
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

/** True when this very state of node_modules was seen complete before. */
function isStamped() {
  try {
    return readFileSync(stampFile, 'utf8') === stamp()
  } catch {
    return false
  }
}

function stamp() {
  const lock = createHash('sha256').update(readFileSync(lockFile)).digest('hex')
  const { mtimeMs, size } = statSync(installedFile)
  return [lock, process.platform, process.arch, mtimeMs, size].join('\n')
}

/** True when node_modules holds each package of the lock file, as after a developer's own `npm install`. */
function isInstalled() {
  if (!existsSync(installedFile)) return false
  const wanted = JSON.parse(readFileSync(lockFile, 'utf8')).packages
  const found = JSON.parse(readFileSync(installedFile, 'utf8')).packages
  return Object.entries(wanted).every(
    ([path, entry]) => path === '' || found[path]?.version === entry.version || !isNeeded(entry),
  )
}

/** npm leaves out optional packages for other machines; which C library this one has is npm's to find out. */
function isNeeded({ optional, os, cpu, libc }) {
  if (!optional) return true
  return Boolean(!libc && os?.includes(process.platform) && (!cpu || cpu.includes(process.arch)))
}

/**
 * `npm install` and not `npm ci`: it takes the same versions from the lock file, but adds only what is
 * missing, and it does not refuse a lock file written where a registry lacks packages for other machines.
 */
function install() {
  const began = Date.now()
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
  if (result.status !== 0) fail(whyNot(result))
  process.stderr.write(`done in ${Math.round((Date.now() - began) / 1000)} s\n`)
}

/** The npm that started us, or the one on the path; never run by a Node that it may replace. */
function npm(args) {
  const { npm_execpath: own, ...env } = process.env
  if (own && /npm-cli\.[cm]?js$/.test(own) && !process.execPath.startsWith(modules)) {
    return { command: process.execPath, args: [own, ...args], env }
  }
  const path = (env.PATH ?? '').split(delimiter).filter((entry) => !entry.startsWith(modules))
  return { command: 'npm', args, env: { ...env, PATH: path.join(delimiter) } }
}

function whyNot({ error, status, signal, stderr }) {
  if (error) return `npm cannot be run: ${error.message}`
  if (signal) return `npm install was ended by ${signal}.`
  const away = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|network/.test(stderr)
  const advice = away
    ? 'The npm registry cannot be reached. Check the network, and the proxy and registry settings of npm; then run this again.'
    : 'Run this again; if it fails again, delete node_modules first.'
  return `npm install failed (exit code ${status}):\n${stderr.trim()}\n\n${advice}`
}

/** The pinned Node, or the running one where install scripts were switched off and it is new enough. */
function findNode() {
  if (existsSync(pinnedNode)) return pinnedNode
  if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) return process.execPath
  return fail(
    `Trivium needs Node ${OLDEST_NODE} or newer; this is ${process.versions.node}, and the pinned Node is not there ` +
      'because npm ran no install scripts.\nRun `rm -rf node_modules && npm_config_ignore_scripts=false npm start` once, or put a newer Node on the path.',
  )
}

function fail(message) {
  process.stderr.write(`\n${message}\n`)
  process.exit(1)
}
