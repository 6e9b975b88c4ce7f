import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { TriviumError } from '../../core/errors.ts'
import type { Attachment } from '../../core/message.ts'
import type { Artifacts } from '../../core/transport.ts'
import { disk, syncDir, temporaryName } from '../../lib/disk.ts'
import { createSharedFiles, type SharedArtifacts } from './shared-files.ts'

type SharedFiles = ReturnType<typeof createSharedFiles>

export type ArtifactStore = Artifacts & {
  has(sha256: string): Promise<boolean>
  /** Removes a file here and from the store. */
  remove(sha256: string): Promise<void>
  /**
   * Removes artifacts that are not `referenced` and were saved before `before` (Unix ms); renews
   * the others on the store.
   */
  sweep(before: number, referenced: ReadonlySet<string>): Promise<{ removed: number; bytes: number }>
}

/** The folder of files that are being written. */
const INCOMING = 'incoming'

/**
 * Files under `<data dir>/artifacts/<first two digits>/<sha256>`. Daemons with other data
 * directories get them from the store, if it is `shared`.
 */
export function createArtifacts(dataDir: string, shared?: SharedArtifacts): ArtifactStore {
  const root = join(dataDir, 'artifacts')
  const pathOf = (sha256: string) => join(root, sha256.slice(0, 2), sha256)
  const sharedFiles = shared && createSharedFiles(shared)

  async function writeIncoming(body: Readable | Uint8Array, name: string, limit: number) {
    const incoming = join(root, INCOMING)
    disk.makeDir(incoming)
    const temporary = temporaryName(join(incoming, 'body'))
    return { temporary, ...(await writeBody(temporary, body, name, limit)) }
  }

  /** Moves a complete file to its place, durably. */
  async function place(temporary: string, sha256: string) {
    const folder = dirname(pathOf(sha256))
    const isNewFolder = !existsSync(folder)
    disk.makeDir(folder)
    // Renames even over equal content: the new modification time protects the file from a sweep.
    disk.rename(temporary, pathOf(sha256))
    await syncDir(folder)
    if (isNewFolder) await syncDir(root)
  }

  /** Gets a file from the store, if all its pieces are there. */
  async function download(from: SharedFiles, wanted: string) {
    const pieces = Readable.from(from.pieces(wanted))
    const { temporary, sha256 } = await writeIncoming(pieces, '', Number.POSITIVE_INFINITY)
    if (sha256 === wanted) await place(temporary, sha256)
    else disk.remove(temporary)
  }

  return {
    async save(name, type, body, limit) {
      const { temporary, size, sha256 } = await writeIncoming(body, name, limit)
      await place(temporary, sha256)
      await sharedFiles?.share(sha256, pathOf(sha256))
      return { name, type, size, sha256, path: relative(dataDir, pathOf(sha256)) } satisfies Attachment
    },
    async open(sha256) {
      const isHash = /^[0-9a-f]{64}$/.test(sha256)
      if (isHash && sharedFiles && !existsSync(pathOf(sha256))) await download(sharedFiles, sha256)
      if (!isHash || !existsSync(pathOf(sha256))) throw new TriviumError('artifact_not_found', { sha256 })
      return createReadStream(pathOf(sha256))
    },
    has: async (sha256) => existsSync(pathOf(sha256)) || ((await sharedFiles?.has(sha256)) ?? false),
    async remove(sha256) {
      await sharedFiles?.remove(sha256, pathOf(sha256))
      disk.remove(pathOf(sha256))
    },
    async sweep(before, referenced) {
      const toRenew = new Set(referenced)
      const swept = { removed: 0, bytes: 0 }
      for await (const path of glob(`{[0-9a-f][0-9a-f],${INCOMING}}/*`, { cwd: root })) {
        const file = statSync(join(root, path), { throwIfNoEntry: false })
        if (!file) continue
        const isYoung = file.mtimeMs > before
        const isArtifact = dirname(path) !== INCOMING
        if (isYoung && isArtifact) toRenew.add(basename(path))
        if (isYoung || referenced.has(basename(path))) continue
        disk.remove(join(root, path))
        swept.removed++
        swept.bytes += file.size
      }
      for (const sha256 of toRenew) await sharedFiles?.renew(sha256, pathOf(sha256))
      return swept
    },
  }
}

/** Writes a file. Removes it again if `body` fails, or is larger than `limit` bytes. */
async function writeBody(path: string, body: Readable | Uint8Array, name: string, limit: number) {
  const hash = createHash('sha256')
  const fd = disk.open(path, 'w')
  let size = 0
  let isComplete = false
  try {
    for await (const chunk of body instanceof Uint8Array ? [body] : body) {
      const bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      size += bytes.length
      if (size > limit) throw new TriviumError('artifact_too_large', { name, limit })
      hash.update(bytes)
      disk.write(fd, bytes)
    }
    await disk.fsync(fd)
    isComplete = true
  } finally {
    disk.close(fd)
    if (!isComplete) disk.remove(path)
  }
  return { size, sha256: hash.digest('hex') }
}
