import { fstatSync } from 'node:fs'
import { TriviumError } from '../../core/errors.ts'
import { fullFiles } from '../files/line-file.ts'
import { endOfLines, linesAfter, linesBefore, openIfThere } from '../files/lines.ts'
import type { Change } from './spec.ts'

/** A change as the file back end writes it. `sha`, on the last one of a commit: the fingerprint of the text it leaves. */
export type LoggedChange = Change & { sha?: string }

/** The last change of a log, in a full file where the current one has none. Throws `state_corrupt`. */
export async function lastChange(path: string, name: string): Promise<LoggedChange | undefined> {
  for (const file of [path, ...fullFiles(path).reverse()]) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    const end = endOfLines(handle.fd, fstatSync(handle.fd).size)
    for await (const line of linesBefore(handle, end)) return parse(line, file, name, 'its end')
  }
  return undefined
}

/** Every change after `after`, oldest first, over the full files too. Throws `state_corrupt` for a gap or a broken line. */
export async function* readChanges(path: string, name: string, after: number): AsyncGenerator<Change> {
  let last: number | undefined
  for (const file of [...fullFiles(path), path]) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    let number = 0
    for await (const line of linesAfter(handle, { offset: 0 })) {
      number += 1
      const change = parse(line, file, name, `line ${number}`)
      // A log that an older version began repeats the last event of the one before.
      if (last !== undefined && change.seq <= last) continue
      if (last !== undefined && change.seq > last + 1) {
        throw corrupt(file, name, `line ${number} is event ${change.seq}, not ${last + 1}`)
      }
      last = change.seq
      if (change.seq > after) yield change
    }
  }
}

function parse(line: string, path: string, name: string, where: string): LoggedChange {
  try {
    const change: LoggedChange = JSON.parse(line)
    if (Number.isInteger(change?.seq) && (change.patch || change.document)) return change
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw corrupt(path, name, `${where} is no event`)
}

function corrupt(path: string, name: string, reason: string): TriviumError {
  return new TriviumError('state_corrupt', { path, name, reason })
}
