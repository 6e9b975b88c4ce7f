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

/** System packages that the tests use. `file` is searched on the path and in the system folders. */
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
 * Cyrus and Exim run unpacked, from the folder of a test: Debian cannot install them next to its
 * Dovecot, or without writing to /etc. Exim's user exists only where Exim is installed;
 * libnss-wrapper provides one.
 */
const MAIL_SERVERS = ['cyrus-imapd', 'cyrus-common', 'exim4-daemon-light', 'libnss-wrapper']
const cache = join(import.meta.dirname, '..', 'node_modules', '.cache')
const mailServers = join(cache, 'mail-servers')
const MAIL_SERVERS_NEEDED =
  'The tests of email on Cyrus and Exim need Debian or Ubuntu: run `sudo apt-get update`, then the tests again.'

/** Only promtool is needed. Installing Debian's Prometheus package would run it as a service. */
const prometheus = join(cache, 'prometheus')
const promtoolFile = join(prometheus, 'promtool')

/** The path of promtool. Throws if it is not available. */
export function promtool(): string {
  if (hasExecutable('promtool')) return 'promtool'
  if (existsSync(promtoolFile)) return promtoolFile
  throw new Error(
    'The tests of the alerts need promtool: install Prometheus (Debian: `prometheus`; Homebrew: `prometheus`).',
  )
}

/** Caddy and nginx are only unpacked: Debian's packages would start both as services. */
const proxies = join(cache, 'proxies')

/**
 * The path of a proxy whose example configuration a test runs; undefined if it is not available.
 */
export function proxyServer(name: 'caddy' | 'nginx'): string | undefined {
  if (hasExecutable(name)) return name
  return ['bin', 'sbin'].map((folder) => join(proxies, 'usr', folder, name)).find((file) => existsSync(file))
}

/**
 * Mail replies with the expected text, from Discourse's library: in the source of a Debian package.
 */
const replies = join(cache, 'reply-fixtures')
const REPLIES_PACKAGE = 'ruby-email-reply-trimmer'
export const REPLIES_NEEDED = `needs the source of Debian's ${REPLIES_PACKAGE}: add deb-src to the sources of apt, update, and remove ${replies}`

/** The folder of those replies; undefined if they are not available. */
export function replyFixtures(): string | undefined {
  return existsSync(join(replies, 'test')) ? replies : undefined
}

/**
 * The packages of Cyrus and Exim, and of the libraries that they need. Throws if they are not
 * available.
 */
export function mailServerPackages(): string[] {
  if (!existsSync(mailServers)) throw new Error(MAIL_SERVERS_NEEDED)
  return readdirSync(mailServers).map((name) => join(mailServers, name))
}

/**
 * Installs missing packages if that needs no question (root on Debian or Ubuntu), without starting
 * a service. Otherwise it prints the exact command. Returns false only if redis-server is missing:
 * no test can run then.
 */
export function ensureSystemPackages(): boolean {
  let missing = packages.filter((wanted) => !isPresent(wanted))
  if (missing.length > 0 && process.getuid?.() === 0 && hasExecutable('apt-get')) {
    install(missing.map(({ apt }) => apt))
    missing = missing.filter((wanted) => !isPresent(wanted))
  }
  for (const { file, why } of missing) console.error(`${file} is missing; the tests need it for ${why}.`)
  if (missing.length > 0) console.error(`Install with:  ${instruction(missing)}\n`)
  if (!existsSync(mailServers)) downloadMailServers()
  if (!hasExecutable('promtool') && !existsSync(prometheus))
    download(prometheus, () => ['prometheus'], unpackPromtool)
  if (hasExecutable('apt-get') && !existsSync(replies)) downloadReplies()
  if (hasExecutable('apt-get') && !existsSync(proxies))
    download(proxies, () => ['caddy', 'nginx'], unpackProxies)
  return !missing.some(({ file }) => file === 'redis-server')
}

/**
 * Downloads 27 KB. If the archive has no sources, an empty folder remains, so that later runs do
 * not ask again.
 */
function downloadReplies(): void {
  const folder = `${replies}-${process.pid}`
  mkdirSync(folder, { recursive: true })
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: folder, stdio: 'ignore' })
  run('apt-get', '-q', 'source', '--download-only', REPLIES_PACKAGE)
  const source = readdirSync(folder).find((file) => file.includes('.orig.tar.'))
  if (source) run('tar', '-xf', source, '--strip-components=1')
  if (existsSync(replies)) rmSync(folder, { recursive: true })
  else renameSync(folder, replies)
}

/** Downloads 4 MB. */
function downloadMailServers(): void {
  const wanted = () => {
    const plan = ['-s', '--no-install-recommends', 'install', ...MAIL_SERVERS]
    const { stdout } = spawnSync('apt-get', plan, { encoding: 'utf8' })
    // Of their dependencies only libraries are used, without those of Debian's virus scanner.
    const libraries = [...(stdout ?? '').matchAll(/^Inst (lib\S+)/gm)].flatMap(([, name = '']) => name)
    return [...new Set([...MAIL_SERVERS, ...libraries.filter((name) => !/clamav|mspack/.test(name))])]
  }
  download(mailServers, wanted)
}

/** Unpacks 13 MB to 38 MB. */
function unpackProxies(folder: string): void {
  for (const file of readdirSync(folder)) {
    spawnSync('dpkg', ['-x', file, '.'], { cwd: folder })
    rmSync(join(folder, file))
  }
}

/** Unpacks 19 MB. Keeps promtool (48 MB) and deletes the rest of the package. */
function unpackPromtool(folder: string): void {
  const [file = ''] = readdirSync(folder)
  spawnSync('dpkg', ['-x', file, 'all'], { cwd: folder })
  renameSync(join(folder, 'all', 'usr', 'bin', 'promtool'), join(folder, 'promtool'))
  for (const rest of [file, 'all']) rmSync(join(folder, rest), { recursive: true })
}

/**
 * Downloads Debian packages into a folder without installing them. Needs no root if package lists
 * exist. `names` is called again after an update of the lists.
 */
function download(target: string, names: () => string[], unpack = (_folder: string) => {}): void {
  console.error(`Setting up (once): downloading ${names().join(', ')} …`)
  const folder = `${target}-${process.pid}`
  mkdirSync(folder, { recursive: true })
  const tryDownload = () =>
    spawnSync('apt-get', ['-q', 'download', ...names()], { cwd: folder, stdio: 'ignore' }).status === 0
  const canUpdate = process.getuid?.() === 0
  // A download fails if the package lists are older than the archive; one update fixes that.
  const isDownloaded = tryDownload() || (canUpdate && aptGet('update') === undefined && tryDownload())
  if (isDownloaded) unpack(folder)
  else
    console.error(
      'The download failed; `sudo apt-get update` may help. The tests that need it will say so.\n',
    )
  // A concurrent test run may have been faster.
  if (isDownloaded && !existsSync(target)) renameSync(folder, target)
  else rmSync(folder, { recursive: true })
}

function isPresent({ file }: SystemPackage): boolean {
  if (hasExecutable(file)) return true
  // Homebrew and Fedora have one package for all of Dovecot, and browsers may have another name.
  if (file === 'dovecot/lmtp') return process.platform !== 'linux' && hasExecutable('dovecot')
  return file === 'chromium' && (hasExecutable('chromium-browser') || hasExecutable('google-chrome'))
}

/** Folders that may not be on the path of the user. */
const SYSTEM_FOLDERS = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/local/bin',
  '/usr/local/sbin',
  '/opt/homebrew/bin',
  '/opt/homebrew/sbin',
  '/usr/lib',
  '/usr/libexec',
  '/usr/local/libexec',
]

function hasExecutable(file: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS]
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
    // The lists may be missing (a fresh container) or older than the archive; one update fixes
    // both.
    if (aptGet('install', ...names) === undefined) return
    aptGet('update')
    const failure = aptGet('install', ...names)
    if (failure !== undefined) console.error(`apt-get install failed:\n${failure}`)
  } finally {
    allowServices()
  }
}

/** Runs apt-get without questions; returns its output if it failed. */
function aptGet(...args: string[]): string | undefined {
  const options = ['-y', '-q', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120']
  const { status, stderr, error } = spawnSync('apt-get', [...options, ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  return status === 0 ? undefined : (error?.message ?? stderr.trim())
}

/**
 * Writes the file that keeps Debian from starting a service when it installs one. Returns a
 * function that removes it.
 */
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
  if (hasExecutable('dnf')) return `sudo dnf install ${unique(missing.map(({ dnf }) => dnf))}`
  return `sudo apt-get install --no-install-recommends ${unique(missing.map(({ apt }) => apt))}`
}
