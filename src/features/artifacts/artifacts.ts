import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { TriviumError } from '../../core/errors.ts'
import type { Attachment } from '../../core/message.ts'
import type { Blobs } from '../../core/store.ts'
import type { Artifacts } from '../../core/transport.ts'
import { DAY, MIB } from '../../core/units.ts'
import { disk, syncDir, temporaryName } from '../../lib/disk.ts'

export type ArtifactStore = Artifacts & {
  has(sha256: string): Promise<boolean>
  /** Removes a file here and from the store. */
  remove(sha256: string): Promise<void>
  /** Removes artifacts that are not `referenced` and were saved before `before` (Unix ms); renews the others on the store. */
  sweep(before: number, referenced: ReadonlySet<string>): Promise<{ removed: number; bytes: number }>
}

/** A store that shares artifacts between daemons, and how long (ms) each stays available. */
export type SharedArtifacts = { blobs: Blobs; keepFor(): number }

/** The store has artifacts in pieces of this many bytes, so that large ones do not block other commands. */
const PIECE_BYTES = MIB
/** Minimum lifetime (ms) of a piece after a renewal, longer than the interval between renewals. */
const RENEWAL_MS = 2 * DAY

/**
 * Files under `<data dir>/artifacts/<first two digits>/<sha256>`. Daemons with other data
 * directories get them through `shared`.
 */
export function createArtifacts(dataDir: string, shared?: SharedArtifacts): ArtifactStore {
  const root = join(dataDir, 'artifacts')
  const incoming = join(root, 'incoming')
  const pathOf = (sha256: string) => join(root, sha256.slice(0, 2), sha256)

  /** Writes a file durably, under its hash. */
  async function write(body: Readable | Uint8Array, name: string, limit: number) {
    disk.makeDir(incoming)
    const temporary = temporaryName(join(incoming, 'body'))
    const written = await writeBody(temporary, body, name, limit)
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
    for await (const piece of createReadStream(pathOf(sha256), { highWaterMark: PIECE_BYTES }))
      await blobs.set(`${sha256}:${index++}`, piece, keepFor())
  }

  async function* piecesOf({ blobs }: SharedArtifacts, sha256: string) {
    for (let index = 0; ; index++) {
      const piece = await blobs.get(`${sha256}:${index}`)
      if (!piece) return
      yield piece
    }
  }

  /** Renews the pieces on the store, or shares the file again if they have expired. */
  async function renew(to: SharedArtifacts, sha256: string) {
    let index = 0
    while (await to.blobs.renew(`${sha256}:${index}`, RENEWAL_MS)) index++
    if (index === 0 && existsSync(pathOf(sha256))) await share(to, sha256)
  }

  return {
    async save(name, type, body, limit) {
      const written = await write(body, name, limit)
      const { sha256 } = written
      if (shared) await share(shared, sha256)
      return { name, type, ...written, path: relative(dataDir, pathOf(sha256)) } satisfies Attachment
    },
    async open(sha256) {
      const isHash = /^[0-9a-f]{64}$/.test(sha256)
      if (isHash && shared && !existsSync(pathOf(sha256)))
        await write(Readable.from(piecesOf(shared, sha256)), '', Number.POSITIVE_INFINITY)
      // If pieces are missing, the file was written under another hash.
      if (!isHash || !existsSync(pathOf(sha256))) throw new TriviumError('artifact_not_found', { sha256 })
      return createReadStream(pathOf(sha256))
    },
    ...createRemoval(pathOf, shared),
    async sweep(before, referenced) {
      const kept = new Set(referenced)
      const swept = { removed: 0, bytes: 0 }
      // Files in `incoming` were left by writers that died.
      for await (const path of glob('{[0-9a-f][0-9a-f],incoming}/*', { cwd: root })) {
        const file = statSync(join(root, path), { throwIfNoEntry: false })
        if (!file) continue
        if (file.mtimeMs > before) kept.add(basename(path))
        if (kept.has(basename(path))) continue
        disk.remove(join(root, path))
        swept.removed++
        swept.bytes += file.size
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
      // A renewal tells whether the store has a piece, without reading it.
      for (let index = 0; await shared?.blobs.renew(`${sha256}:${index}`, RENEWAL_MS); index++)
        await shared?.blobs.delete(`${sha256}:${index}`)
    },
  }
}

/** Writes a file. Removes it again if `body` fails, or is larger than `limit` bytes. */
async function writeBody(path: string, body: Readable | Uint8Array, name: string, limit: number) {
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
