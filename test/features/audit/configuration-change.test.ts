import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordChange, recordFailure } from '../../../src/daemon/configuration-changes.ts'

function read(yaml: string, environment: Record<string, string> = {}) {
  const variables = [{ name: 'STRIPE', isSet: true, optional: false, usedIn: ['gateways.shop'] }]
  return {
    file: 'routes.yaml',
    envFile: '.env',
    environment,
    asRead: { yaml, files: [{ file: 'routes.yaml', yaml }], variables },
  }
}

const BEFORE =
  'gateways: { shop: { path: /shop } }\nroutes: [{ name: all, skill: echo }]\nlogs: { level: info }\n'

/** The audit entry about a change; empty without an entry. */
async function entryOf(before: ReturnType<typeof read>, after: ReturnType<typeof read>) {
  const recorded: unknown[] = []
  await recordChange(before, after, async (entry) => void recorded.push(entry))
  return Object(recorded[0])
}

const targetOf = async (...versions: Parameters<typeof entryOf>) => (await entryOf(...versions)).target

test('a changed configuration is recorded with the names of its changed parts and variables', async () => {
  assert.deepEqual(
    await targetOf(
      read(BEFORE),
      read(
        'gateways: { shop: { path: /shop }, desk: {} }\nroutes: [{ name: all, skill: other }]\nlogs: { level: debug }\n',
      ),
    ),
    { file: 'routes.yaml', changed: ['routes.all', 'logs.level', 'gateways.desk'] },
  )
  const rotated = await targetOf(
    read(BEFORE, { STRIPE: 'a', OTHER: 'a' }),
    read(BEFORE, { STRIPE: 'b', OTHER: 'b' }),
  )
  assert.deepEqual(rotated, { file: '.env', variables: ['STRIPE'] })
  assert.equal(await targetOf(read(BEFORE), read(BEFORE)), undefined)
})

test('a configuration that cannot be applied is recorded with its error, without secrets', async () => {
  const recorded: object[] = []
  await recordFailure({ file: 'routes.yaml' }, new Error('bad value whsec_4711\nsecond line'), {
    record: async (entry) => void recorded.push(entry),
    clean: (text) => text.replace('whsec_4711', '[secret]'),
  })
  assert.partialDeepStrictEqual(recorded, [
    {
      action: 'configuration-change',
      target: { file: 'routes.yaml' },
      error: 'Internal error: bad value [secret]',
    },
  ])
})

test('a change has each setting before and after, bounded', async () => {
  const { changes } = await entryOf(
    read(BEFORE),
    read(
      'gateways: { shop: { path: /shop, rate: 5/1m }, desk: { path: /d } }\nroutes: [{ name: all, skill: other }]\n',
    ),
  )
  assert.deepEqual(changes, {
    'gateways.shop.rate': { before: null, after: '5/1m' },
    'routes.all.skill': { before: 'echo', after: 'other' },
    'logs.level': { before: 'info', after: null },
    'gateways.desk': { before: null, after: { path: '/d' } },
  })
  const many = Array.from({ length: 200 }, (_, at) => `  g${at}: { path: /${'x'.repeat(2_000)} }`)
  const large = await entryOf(read('gateways: {}\n'), read(`gateways:\n${many.join('\n')}\n`))
  assert.ok(Object.keys(large.changes).length > 0)
  assert.ok(JSON.stringify(large.changes).length < 40_000)
})
