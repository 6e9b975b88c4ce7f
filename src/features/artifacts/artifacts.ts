import { createHash, hash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { Readable } from 'node:stream'
import type { ArtifactService, FileAsking } from '../../core/artifacts.ts'
import { requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isOperator } from '../../core/identity.ts'
import type { Log } from '../../core/log.ts'
import type { Attachment, Message } from '../../core/message.ts'
import type { Blobs, Store } from '../../core/store.ts'
import type { Artifacts } from '../../core/transport.ts'
import { disk, syncDir, temporaryName } from '../../lib/disk.ts'

export type ArtifactStore = Artifacts & {
  has(sha256: string): Promise<boolean>
  /** Removes a file here and from the store. */
  remove(sha256: string): Promise<void>
  /** Removes artifacts that are not `named` and were saved before `before` (Unix ms); renews the others on the store. */
  sweep(before: number, named: ReadonlySet<string>): Promise<{ removed: number; bytes: number }>
}

/** A store that shares artifacts between daemons, and how long (ms) each stays available. */
export type SharedArtifacts = { blobs: Blobs; keepFor(): number }

/** Artifacts are stored in pieces of this many bytes, so that large ones do not block others. */
const PIECE = 1024 * 1024
/** Minimum lifetime (ms) after a renewal, longer than the interval between renewals. */
const RENEWED = 2 * 86_400_000

/** Files under `<data dir>/artifacts/<first two digits>/<sha256>`. Daemons with other data directories get them through the store. */
export function createArtifacts(dataDir: string, shared?: SharedArtifacts): ArtifactStore {
  const root = join(dataDir, 'artifacts')
  const incoming = join(root, 'incoming')
  const pathOf = (sha256: string) => join(root, sha256.slice(0, 2), sha256)

  /** Writes a file durably. */
  async function keep(body: Readable | Uint8Array, name: string, limit: number) {
    disk.makeDir(incoming)
    const temporary = temporaryName(join(incoming, 'body'))
    const written = await receive(temporary, body, name, limit)
    const { sha256 } = written
    const folder = dirname(pathOf(sha256))
    const isNew = !existsSync(folder)
    disk.makeDir(folder)
    // Always renamed, even over equal content: the new modification time protects it from a sweep.
    disk.rename(temporary, pathOf(sha256))
    await syncDir(folder)
    if (isNew) await syncDir(root)
    return written
  }

  async function share({ blobs, keepFor }: SharedArtifacts, sha256: string) {
    let index = 0
    for await (const piece of createReadStream(pathOf(sha256), { highWaterMark: PIECE }))
      await blobs.set(`${sha256}:${index++}`, piece, keepFor())
  }

  async function* piecesOf({ blobs }: SharedArtifacts, sha256: string) {
    for (let index = 0; ; index++) {
      const piece = await blobs.get(`${sha256}:${index}`)
      if (!piece) return
      yield piece
    }
  }

  async function renew(to: SharedArtifacts, sha256: string) {
    let index = 0
    while (await to.blobs.renew(`${sha256}:${index}`, RENEWED)) index++
    if (index === 0 && existsSync(pathOf(sha256))) await share(to, sha256)
  }

  return {
    async save(name, type, body, limit) {
      const written = await keep(body, name, limit)
      const { sha256 } = written
      if (shared) await share(shared, sha256)
      return { name, type, ...written, path: relative(dataDir, pathOf(sha256)) } satisfies Attachment
    },
    async open(sha256) {
      const isHash = /^[0-9a-f]{64}$/.test(sha256)
      if (isHash && shared && !existsSync(pathOf(sha256)))
        await keep(Readable.from(piecesOf(shared, sha256)), '', Number.POSITIVE_INFINITY)
      // With missing pieces, the hash differs.
      if (!isHash || !existsSync(pathOf(sha256))) throw new TriviumError('artifact_not_found', { sha256 })
      return createReadStream(pathOf(sha256))
    },
    ...createRemoval(pathOf, shared),
    async sweep(before, named) {
      const kept = new Set(named)
      const swept = { removed: 0, bytes: 0 }
      // Files in `incoming` were left by writers that died.
      for await (const path of glob('{[0-9a-f][0-9a-f],incoming}/*', { cwd: root })) {
        const { mtimeMs, size } = statSync(join(root, path), { throwIfNoEntry: false }) ?? {
          mtimeMs: before + 1,
        }
        if (mtimeMs > before) kept.add(basename(path))
        if (kept.has(basename(path))) continue
        disk.remove(join(root, path))
        swept.removed++
        swept.bytes += size ?? 0
      }
      if (shared) for (const sha256 of kept) await renew(shared, sha256)
      return swept
    },
  }
}

function createRemoval(
  pathOf: (sha256: string) => string,
  shared: SharedArtifacts | undefined,
): Pick<ArtifactStore, 'has' | 'remove'> {
  return {
    has: async (sha256) =>
      existsSync(pathOf(sha256)) || (await shared?.blobs.get(`${sha256}:0`)) !== undefined,
    async remove(sha256) {
      disk.remove(pathOf(sha256))
      for (let index = 0; await shared?.blobs.renew(`${sha256}:${index}`, RENEWED); index++)
        await shared?.blobs.delete(`${sha256}:${index}`)
    },
  }
}

async function receive(path: string, body: Readable | Uint8Array, name: string, limit: number) {
  const hash = createHash('sha256')
  const fd = disk.open(path, 'w')
  let size = 0
  let complete = false
  try {
    for await (const chunk of body instanceof Uint8Array ? [body] : body) {
      const bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      size += bytes.length
      if (size > limit) throw new TriviumError('artifact_too_large', { name, limit })
      hash.update(bytes)
      disk.write(fd, bytes)
    }
    await disk.fsync(fd)
    complete = true
  } finally {
    disk.close(fd)
    if (!complete) disk.remove(path)
  }
  return { size, sha256: hash.digest('hex') }
}

/** Much longer than the time between saving files and accepting their message. */
const MARGIN = 86_400_000
const HASH = /\b[0-9a-f]{64}\b/g
/** Documents, values and sessions that may refer to artifacts. References in logs do not count. */
const NAMING = '{*.json,state/**/*.json,sessions/**/*.json}'

/**
 * Removes unreferenced artifacts. Those saved since a day before the oldest retained message may belong to a message and stay; others
 * stay if a dead letter, a stored value or a state file refers to them.
 */
export function createArtifactSweep(deps: {
  artifacts: ArtifactStore
  store: Store
  dataDir: string
  workbenchDir: string
  log: Log
  now(): number
}): () => Promise<void> {
  const { artifacts, store, log, now } = deps

  return async () => {
    const { journal } = await store.stats()
    const before = Math.min(journal.oldestAt ?? now(), now()) - MARGIN
    const swept = await artifacts.sweep(before, await everythingNamed())
    if (swept.removed > 0) log.info(swept, 'unreferenced artifacts were removed')
  }

  async function everythingNamed(): Promise<Set<string>> {
    const found = new Set<string>()
    const take = (text: string) => {
      for (const [sha256] of text.matchAll(HASH)) found.add(sha256)
    }
    // One at a time, as they may be large.
    for (const id of await store.jobs.deadLetters.ids())
      take(JSON.stringify((await store.jobs.deadLetters.get(id)) ?? null))
    for (const key of await store.kv.list('', Number.MAX_SAFE_INTEGER))
      take(JSON.stringify((await store.kv.get(key))?.value ?? null))
    for (const [folder, pattern] of [
      [deps.dataDir, NAMING],
      [deps.workbenchDir, '**/*.json'],
    ] as const) {
      for await (const file of glob(pattern, { cwd: folder }))
        take(await readFile(join(folder, file), 'utf8'))
    }
    return found
  }
}

/** Maximum bytes of a file saved by a skill or program. */
const MAX_SAVED = 25 * 1024 * 1024

/**
 * The files of messages, for skills and programs. Knowing a hash grants no access: files are for operators, for the conversation in
 * which they arrived or were saved, and for the caller who saved them. `keepFor`: how long (ms) rights and files are kept.
 */
export function createArtifactService(deps: {
  artifacts: Artifacts
  store: { kv: Store['kv']; journal: Pick<Store['journal'], 'get'> }
  keepFor(): number
}): ArtifactService {
  const { artifacts, store } = deps

  async function requireRight(sha256: string, asking: FileAsking, named?: Message) {
    if (isOperator(asking.caller)) return
    if ([asking.message, named].some((message) => message && filesOf(message).includes(sha256))) return
    const rights = scopesOf(asking).map((scope) => store.kv.get(rightOf(sha256, scope)))
    if ((await Promise.all(rights)).every((right) => right === undefined))
      throw new TriviumError('artifact_not_found', { sha256 })
  }

  return {
    async save({ name, type, data }, asking) {
      const body = typeof data === 'string' ? Buffer.from(data) : data
      const saved = await artifacts.save(name.slice(0, 255), type, body, MAX_SAVED)
      for (const scope of scopesOf(asking))
        await store.kv.set(rightOf(saved.sha256, scope), saved.sha256, { ttl: deps.keepFor() })
      return saved
    },
    async open({ artifact, messageId }, asking) {
      const sha256 = hashIn(typeof artifact === 'string' ? artifact : artifact.sha256)
      const named = messageId === undefined ? undefined : await store.journal.get(messageId)
      if (named) requireGateway(asking.caller, named.gateway)
      await requireRight(sha256, asking, named)
      return artifacts.open(sha256)
    },
    async requireAll(attachments, asking, named) {
      for (const { sha256 } of attachments) await requireRight(sha256, asking, named)
    },
  }
}

/** The access scopes of a caller. */
function scopesOf({ caller, message }: FileAsking): string[] {
  const conversation = message && `${message.gateway}/${message.conversation}`
  return [conversation, isOperator(caller) ? 'operator' : caller.id].filter((scope) => scope !== undefined)
}

function rightOf(sha256: string, scope: string): string {
  return `${RIGHT}${sha256}:${hash('sha256', scope, 'base64url')}`
}

const RIGHT = 'artifact:'

/**
 * Files that were saved for one of `scopes` (people, or conversations as `gateway/conversation`), and for no
 * one else except operators or one of `beside`.
 */
export async function filesSavedFor(
  kv: Pick<Store['kv'], 'list'>,
  scopes: readonly string[],
  beside: readonly string[],
): Promise<string[]> {
  const digest = (scope: string) => hash('sha256', scope, 'base64url')
  const theirs = new Set(scopes.map(digest))
  const others = new Set([...beside, 'operator'].map(digest))
  const rights = (await kv.list(RIGHT, Number.MAX_SAFE_INTEGER)).map((key) => {
    const [sha256 = '', scope = ''] = key.slice(RIGHT.length).split(':')
    return { sha256, scope }
  })
  return [...Map.groupBy(rights, ({ sha256 }) => sha256)].flatMap(([sha256, all]) => {
    const isTheirs = all.some(({ scope }) => theirs.has(scope))
    return isTheirs && all.every(({ scope }) => theirs.has(scope) || others.has(scope)) ? [sha256] : []
  })
}

/** The files of a message. Other hashes in `data` may have been written by the sender. */
function filesOf({ transport, attachments, data }: Message): string[] {
  const texts = transport === 'email' ? [data.textPath, data.fullTextPath, data.htmlPath] : []
  return [...attachments.map(({ sha256 }) => sha256), ...texts.map((path) => hashIn(String(path)))]
}

/** Extracts the hash from a path. */
function hashIn(path: string): string {
  return path.split('/').at(-1) ?? ''
}
