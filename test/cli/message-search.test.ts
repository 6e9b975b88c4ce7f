import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchPages } from '../../src/cli/search-pages.ts'
import { type Json, pathGet } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'

test('message search reads pages until it has as many messages as wanted', async () => {
  /** Pages end early, and one is empty, as in a large journal. */
  const pages = [[1, 2], [], [3, 4, 5], [6]]
  const calls: Json[] = []
  const invoke = async (_: string, args: unknown): Promise<Json> => {
    const at = Number(pathGet(args, 'before') ?? 0)
    calls.push(pathGet(args, 'limit') === undefined ? null : Number(pathGet(args, 'limit')))
    const messages = (pages[at] ?? []).map((id) => ({ id }))
    return { messages, searchedTo: 1, ...(at < pages.length - 1 && { next: String(at + 1) }) }
  }
  const shown: string[] = []
  const progress = (text: string) => void shown.push(text)
  const search = (limit: number) => searchPages({ invoke }, { text: 'x', limit }, { progress })
  const five = Object(await search(5))
  assert.deepEqual([five.messages.length, five.next], [5, '3'])
  assert.deepEqual(calls, [5, 3, 3])
  assert.deepEqual(shown.at(-1), '', 'the progress is erased before the result')
  const all = Object(await search(1_000))
  assert.deepEqual([all.messages.length, all.next], [6, undefined])
})

test('message search takes a limit of more than one page', async () => {
  const site = openSite({
    routes: 'gateways: { demo: { transport: cli } }\nroutes: [{ name: all, skill: echo }]\n',
  })
  await site.start()
  for (const text of ['one', 'two']) await site.run(['message', 'demo', text])
  const { code, out, err } = await site.run(['message', 'search', '--limit', '1200'])
  assert.equal(code, 0, err)
  assert.match(out, /\ttwo\t.*\n.*\tone\t/)
  assert.equal(
    JSON.parse((await site.run(['message', 'search', '--limit', '1200', '--json'])).out).messages.length,
    2,
  )
})
