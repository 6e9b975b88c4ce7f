import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createErasing } from '../../../src/stores/redis/erasing.ts'
import { createTrim } from '../../../src/stores/redis/trim.ts'
import { DAY } from '../../contract/store/kit.ts'

test('a topic that gets a group while retention finds it without groups stays in the list of topics with groups', async () => {
  const sets = new Map([
    ['main:topics', new Set(['t'])],
    ['main:grouped-topics', new Set(['t'])],
  ])
  const keys = new Set<string>()
  const answers: Record<string, (key: string, ...rest: string[]) => unknown> = {
    SSCAN: () => ['0', ['t']],
    SREM: (set, topic = '') => sets.get(set)?.delete(topic),
    SADD: (set, topic = '') => sets.get(set)?.add(topic),
    EXISTS: (...names) => names.filter((name) => keys.has(name)).length,
  }
  const scripts: Record<string, () => unknown> = {
    'trim-journal': () => [0, 0],
    'trim-topic': () => [0, 0],
    'trim-rest': () => 0,
    'topic-groups': () => {
      // Another daemon subscribes after the script has found no groups.
      keys.add('t:groups')
      for (const set of sets.values()) set.add('t')
      return 0
    },
  }
  const trim = createTrim({
    roots: { main: 'main:', topic: (name: string) => `${name}:` },
    call: async (command: string, ...args: string[]) => answers[command]?.(...(args as [string])),
    run: async (name: string) => scripts[name]?.(),
  } as never)
  await trim({ journal: { maxAge: DAY, maxCount: 10 } })
  assert.deepEqual([...(sets.get('main:grouped-topics') ?? [])], ['t'])
})

test('a topic that gets an event while it is dropped stays in the list of topics', async () => {
  const topics = new Set(['t'])
  const keys = new Set(['t:journal'])
  const answers: Record<string, (key: string, ...rest: string[]) => unknown> = {
    DEL: (key) => {
      keys.delete(key)
      // Another daemon publishes before the topic is removed from the list.
      if (key === 't:meta') keys.add('t:journal')
    },
    SREM: (set, topic = '') => set === 'main:topics' && topics.delete(topic),
    SADD: (set, topic = '') => set === 'main:topics' && topics.add(topic),
    EXISTS: (...names) => names.filter((name) => keys.has(name)).length,
  }
  const server = {
    roots: { main: 'main:', topic: (name: string) => `${name}:` },
    call: async (command: string, ...args: string[]) => answers[command]?.(...(args as [string])),
    async *scan() {
      yield ['t:journal', 't:meta']
    },
  }
  const erasing = createErasing(server as never, () => {})
  await erasing.dropTopic('t')
  assert.deepEqual([...topics], ['t'])
})
