import { createReadStream, statSync } from 'node:fs'
import type { Blobs } from '../../core/store.ts'
import { DAY, MIB } from '../../core/units.ts'

/** A store that shares artifacts between daemons, and how long (ms) each stays available. */
export type SharedArtifacts = { blobs: Blobs; keepFor(): number }

/** Size of the pieces of a file on the store. Larger ones would block other commands. */
const PIECE_BYTES = MIB
/** Minimum lifetime (ms) of a piece after a renewal, longer than the interval between renewals. */
const RENEWAL_MS = 2 * DAY

/** The artifacts on a shared store. `path`: the file on this machine, which may not exist. */
export function createSharedFiles({ blobs, keepFor }: SharedArtifacts) {
  const nameOf = (sha256: string, index: number) => `${sha256}:${index}`
  /** Extends the lifetime of a piece without reading it. False if the store does not have it. */
  const renewPiece = (sha256: string, index: number) => blobs.renew(nameOf(sha256, index), RENEWAL_MS)

  async function share(sha256: string, path: string): Promise<void> {
    let count = 0
    const add = (piece: Uint8Array) => blobs.set(nameOf(sha256, count++), piece, keepFor())
    for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES })) await add(piece)
    if (count === 0) await add(new Uint8Array())
  }

  return {
    share,
    has: (sha256: string): Promise<boolean> => renewPiece(sha256, 0),
    /** The pieces before the first one that the store does not have. */
    async *pieces(sha256: string): AsyncGenerator<Uint8Array> {
      for (let index = 0; ; index++) {
        const piece = await blobs.get(nameOf(sha256, index))
        if (!piece) return
        yield piece
      }
    },
    /** Renews the pieces. Shares the file again if the store lost some of them. */
    async renew(sha256: string, path: string): Promise<void> {
      let renewed = 0
      while (await renewPiece(sha256, renewed)) renewed++
      if (renewed < countPieces(path)) await share(sha256, path)
    },
    async remove(sha256: string, path: string): Promise<void> {
      const count = countPieces(path)
      for (let index = 0; index < count || (await renewPiece(sha256, index)); index++)
        await blobs.delete(nameOf(sha256, index))
    },
  }
}

/** The number of pieces of a file: one for an empty file, and 0 if it does not exist. */
function countPieces(path: string): number {
  const file = statSync(path, { throwIfNoEntry: false })
  return file ? Math.max(1, Math.ceil(file.size / PIECE_BYTES)) : 0
}
