import { spawnSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'

type SystemPackage = { file: string; apt: string; brew?: string; dnf?: string; why: string }

/** What the tests use of the operating system. `file` is looked for on the path and in the system folders. */
const packages: SystemPackage[] = [
  { file: 'redis-server', apt: 'redis-server', brew: 'redis', dnf: 'redis', why: 'the Redis store' },
  { file: 'dovecot', apt: 'dovecot-imapd', brew: 'dovecot', dnf: 'dovecot', why: 'email in' },
  { file: 'dovecot/lmtp', apt: 'dovecot-lmtpd', dnf: 'dovecot', why: 'email in' },
  { file: 'python3', apt: 'python3', brew: 'python', dnf: 'python3', why: 'the workers of the README' },
  { file: 'curl', apt: 'curl', brew: 'curl', dnf: 'curl', why: 'the workers of the README' },
  { file: 'jq', apt: 'jq', brew: 'jq', dnf: 'jq', why: 'the workers of the README' },
  { file: 'openssl', apt: 'openssl', brew: 'openssl', dnf: 'openssl', why: 'Redis behind TLS' },
  { file: 'cc', apt: 'gcc', brew: 'gcc', dnf: 'gcc', why: 'a Redis whose clock jumps' },
  { file: 'chromium', apt: 'chromium', dnf: 'chromium', why: 'the console' },
]

/**
 * Cyrus and Exim run unpacked, from the folder of a test: Debian installs neither beside its Dovecot, nor without
 * writing into /etc. Exim's user exists only where it is installed; libnss-wrapper makes one up.
 */
const unpacked = ['cyrus-imapd', 'cyrus-common', 'exim4-daemon-light', 'libnss-wrapper']
const cache = join(import.meta.dirname, '..', 'node_modules', '.cache')
const mailServers = join(cache, 'mail-servers')
const NEEDED =
  'The tests of email on Cyrus and Exim need Debian or Ubuntu: run `sudo apt-get update`, then the tests again.'

/** Of Debian's package of Prometheus only its tool is wanted: installed whole it would run as a service. */
const prometheus = join(cache, 'prometheus')
const promtoolFile = join(prometheus, 'promtool')

/** Where promtool is. Throws where it could not be had. */
export function promtool(): string {
  if (find('promtool')) return 'promtool'
  if (existsSync(promtoolFile)) return promtoolFile
  throw new Error(
    'The tests of the alerts need promtool: install Prometheus (Debian: `prometheus`; Homebrew: `prometheus`).',
  )
}

/** Debian starts both as services when it installs them. */
const proxies = join(cache, 'proxies')

/** Where a proxy is whose example a test runs; undefined where it could not be had. */
export function proxyServer(name: 'caddy' | 'nginx'): string | undefined {
  if (find(name)) return name
  return ['bin', 'sbin'].map((folder) => join(proxies, 'usr', folder, name)).find((file) => existsSync(file))
}

/** Replies of which Discourse's library says what is new in them: in the source of a package of Debian. */
const replies = join(cache, 'reply-fixtures')
const REPLIES = 'ruby-email-reply-trimmer'
export const REPLIES_NEEDED = `needs the source of Debian's ${REPLIES}: add deb-src to the sources of apt, update, and remove ${replies}`

/** The folder of those replies. Undefined where they could not be had. */
export function replyFixtures(): string | undefined {
  return existsSync(join(replies, 'test')) ? replies : undefined
}

/** The packages of Cyrus and Exim, and of the libraries that they need. Throws where they could not be had. */
export function mailServerPackages(): string[] {
  if (!existsSync(mailServers)) throw new Error(NEEDED)
  return readdirSync(mailServers).map((name) => join(mailServers, name))
}

/**
 * Installs what is missing where that needs no question (root on Debian or Ubuntu), without starting any
 * service. Elsewhere it prints the exact command. Returns false only where the tests cannot run at all:
 * without redis-server.
 */
export function ensureSystemPackages(): boolean {
  let missing = packages.filter((wanted) => !isPresent(wanted))
  if (missing.length > 0 && process.getuid?.() === 0 && find('apt-get')) {
    install(missing.map(({ apt }) => apt))
    missing = missing.filter((wanted) => !isPresent(wanted))
  }
  for (const { file, why } of missing) console.error(`${file} is missing; the tests need it for ${why}.`)
  if (missing.length > 0) console.error(`Install with:  ${instruction(missing)}\n`)
  if (!existsSync(mailServers)) downloadMailServers()
  if (!find('promtool') && !existsSync(prometheus)) download(prometheus, () => ['prometheus'], unpackPromtool)
  if (find('apt-get') && !existsSync(replies)) downloadReplies()
  if (find('apt-get') && !existsSync(proxies)) download(proxies, () => ['caddy', 'nginx'], unpackProxies)
  return !missing.some(({ file }) => file === 'redis-server')
}

/** 27 KB. An empty folder stays where the archive has no sources, so that they are not asked for with each run. */
function downloadReplies(): void {
  const folder = `${replies}-${process.pid}`
  mkdirSync(folder, { recursive: true })
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: folder, stdio: 'ignore' })
  run('apt-get', '-q', 'source', '--download-only', REPLIES)
  const source = readdirSync(folder).find((file) => file.includes('.orig.tar.'))
  if (source) run('tar', '-xf', source, '--strip-components=1')
  if (existsSync(replies)) rmSync(folder, { recursive: true })
  else renameSync(folder, replies)
}

/** 4 MB. */
function downloadMailServers(): void {
  const wanted = () => {
    const plan = ['-s', '--no-install-recommends', 'install', ...unpacked]
    const { stdout } = spawnSync('apt-get', plan, { encoding: 'utf8' })
    // Of what they depend on only libraries are used, and of these not those of its virus scanner.
    const libraries = [...(stdout ?? '').matchAll(/^Inst (lib\S+)/gm)].flatMap(([, name = '']) => name)
    return [...new Set([...unpacked, ...libraries.filter((name) => !/clamav|mspack/.test(name))])]
  }
  download(mailServers, wanted)
}

/** 13 MB, of which 38 MB stay. */
function unpackProxies(folder: string): void {
  for (const file of readdirSync(folder)) {
    spawnSync('dpkg', ['-x', file, '.'], { cwd: folder })
    rmSync(join(folder, file))
  }
}

/** 19 MB, of which 48 MB stay. The rest of the package is let go. */
function unpackPromtool(folder: string): void {
  const [file = ''] = readdirSync(folder)
  spawnSync('dpkg', ['-x', file, 'all'], { cwd: folder })
  renameSync(join(folder, 'all', 'usr', 'bin', 'promtool'), join(folder, 'promtool'))
  for (const rest of [file, 'all']) rmSync(join(folder, rest), { recursive: true })
}

/** Brings packages of Debian into a folder, without installing them. Needs no root, but for package lists that are there. */
function download(target: string, packages: () => string[], unpack = (_folder: string) => {}): void {
  console.error(`Setting up (once): downloading ${packages().join(', ')} …`)
  const folder = `${target}-${process.pid}`
  mkdirSync(folder, { recursive: true })
  const fetched = () =>
    spawnSync('apt-get', ['-q', 'download', ...packages()], { cwd: folder, stdio: 'ignore' }).status === 0
  // Older lists than the archive; one update mends that.
  const isHad = fetched() || (process.getuid?.() === 0 && aptGet('update') === undefined && fetched())
  if (isHad) unpack(folder)
  else
    console.error(
      'They could not be had; `sudo apt-get update` may help. The tests that need them will say so.\n',
    )
  // Another run of the tests may have been faster.
  if (isHad && !existsSync(target)) renameSync(folder, target)
  else rmSync(folder, { recursive: true })
}

function isPresent({ file }: SystemPackage): boolean {
  if (find(file)) return true
  // Homebrew and Fedora have one package for all of Dovecot, and a browser may come under another name.
  if (file === 'dovecot/lmtp') return process.platform !== 'linux' && find('dovecot')
  return file === 'chromium' && (find('chromium-browser') || find('google-chrome'))
}

function find(file: string): boolean {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...[
      '/usr/bin',
      '/usr/sbin',
      '/usr/local/bin',
      '/usr/local/sbin',
      '/opt/homebrew/bin',
      '/opt/homebrew/sbin',
    ],
    ...['/usr/lib', '/usr/libexec', '/usr/local/libexec'],
  ]
  return folders.some((folder) => {
    try {
      accessSync(join(folder, file), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function install(names: string[]): void {
  console.error(`Setting up (once): installing ${names.join(', ')} …`)
  const allowServices = forbidServices()
  try {
    // The lists may be missing (a fresh container) or older than the archive; one update mends both.
    if (aptGet('install', ...names) === undefined) return
    aptGet('update')
    const failure = aptGet('install', ...names)
    if (failure !== undefined) console.error(`apt-get install failed:\n${failure}`)
  } finally {
    allowServices()
  }
}

/** Runs apt-get without questions; returns what it said where it failed. */
function aptGet(...args: string[]): string | undefined {
  const options = ['-y', '-q', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120']
  const { status, stderr, error } = spawnSync('apt-get', [...options, ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  return status === 0 ? undefined : (error?.message ?? stderr.trim())
}

/** Debian starts a service when it is installed, unless this file says no. Returns the way back. */
function forbidServices(): () => void {
  const policy = '/usr/sbin/policy-rc.d'
  if (existsSync(policy)) return () => {}
  writeFileSync(policy, '#!/bin/sh\nexit 101\n')
  chmodSync(policy, 0o755)
  return () => rmSync(policy, { force: true })
}

function instruction(missing: SystemPackage[]): string {
  const unique = (names: (string | undefined)[]) => [...new Set(names.filter(Boolean))].join(' ')
  if (process.platform === 'darwin') return `brew install ${unique(missing.map(({ brew }) => brew))}`
  if (find('dnf')) return `sudo dnf install ${unique(missing.map(({ dnf }) => dnf))}`
  return `sudo apt-get install --no-install-recommends ${unique(missing.map(({ apt }) => apt))}`
}
