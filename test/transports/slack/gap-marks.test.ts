import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { createMarks, type Marks } from '../../../transports/slack/gap-marks.ts'
import { createMemoryStore, type MemoryStore } from '../../fixtures/memory-store.ts'
import { recordingLog } from '../../fixtures/transport-deps.ts'

const HOUR = 3_600_000
let time: number
let store: MemoryStore
beforeEach(() => {
  time = 1_000_000_000
  store = createMemoryStore(() => time)
})

/** One daemon's marks, with what is on its way in. */
function daemon(underWay: () => ReadonlyMap<string, number> = () => new Map()): Marks {
  const deps = { kv: store.kv, gateway: 'team', now: () => time, log: recordingLog([]) }
  return createMarks(deps, { reach: HOUR, underWay })
}

/** Hears a message as the transport does. */
function hear(marks: Marks, at: number) {
  const channel = marks.channel('T', 'C', at)
  channel.newest = Math.max(channel.newest, at)
  marks.touch(channel)
  return channel
}

/** How far another daemon reads the channel as read, after it has looked at the store. */
async function markAfterLoad(marks = daemon()): Promise<number | undefined> {
  await marks.load()
  return marks.open()[0]?.mark
}

describe('the mark of a channel', () => {
  test('moves with what comes live while nothing is missing, and with nothing else', async () => {
    const marks = daemon()
    await marks.load()
    const channel = hear(marks, 100)
    hear(marks, 110)
    marks.reopen(120)
    hear(marks, 130)
    assert.equal(channel.mark, 110)
    marks.close(channel, 125)
    await marks.stop()
    assert.equal(await markAfterLoad(), 130)
  })

  test('does not pass a message that has come and is not durable yet', async () => {
    const marks = daemon(() => new Map([['C', 105]]))
    await marks.load()
    hear(marks, 100)
    hear(marks, 110)
    await marks.stop()
    assert.equal(await markAfterLoad(), 104.999999)
  })

  test('goes back to before a message that was refused, also in a channel that nobody knew', async () => {
    const marks = daemon()
    await marks.load()
    marks.reopen(99, marks.channel('T', 'C', 99))
    hear(marks, 110)
    await marks.stop()
    assert.equal(await markAfterLoad(), 99)
  })

  test('of another daemon counts only up to where this one lost its connection', async () => {
    const [one, other] = [daemon(), daemon()]
    await one.load()
    await other.load()
    hear(one, 100)
    hear(other, 110)
    one.reopen(105)
    hear(other, 120)
    await other.stop()
    assert.equal(await markAfterLoad(one), 105)
  })

  test('of a daemon that died before it had made up for its gap is not moved past it by others', async () => {
    const [dead, other] = [daemon(), daemon()]
    await dead.load()
    await other.load()
    hear(dead, 100)
    dead.reopen(105)
    await dead.persistGap()
    hear(other, 120)
    await other.stop()
    assert.equal(await markAfterLoad(), 105)
    time += HOUR
    assert.equal(await markAfterLoad(), 120, 'after the reach of a fill nobody can make up for it')
  })

  test('moves on for all once the gap is made up for', async () => {
    const marks = daemon()
    await marks.load()
    const channel = hear(marks, 100)
    marks.reopen(105)
    await marks.persistGap()
    marks.close(channel, 120)
    await marks.settle()
    await marks.stop()
    assert.equal(await markAfterLoad(), 120)
  })

  test('is kept with the threads that two daemons have heard of, within a limit', async () => {
    const [one, other] = [daemon(), daemon()]
    await one.load()
    await other.load()
    for (let at = 0; at < 100; at++) hear(one, 100).threads.set(`${at}`, at)
    hear(other, 100).threads.set('other', 200)
    await one.stop()
    await other.stop()
    const third = daemon()
    await third.load()
    const threads = [...(third.open()[0]?.threads.keys() ?? [])]
    assert.deepEqual([threads.length, threads.at(-1), threads.at(-2)], [40, 'other', '99'])
  })
})
