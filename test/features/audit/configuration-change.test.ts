import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordChange, recordFailure } from '../../../src/daemon/configuration-changes.ts'

function read(yaml: string, environment: Record<string, string> = {}) {
  const variables = [{ name: 'STRIPE', isSet: true, optional: false }]
  return {
    file: 'routes.yaml',
    environment,
    asRead: { yaml, files: [{ file: 'routes.yaml', yaml }], variables },
  }
}

const BEFORE =
  'gateways: { shop: { path: /shop } }\nroutes: [{ name: all, skill: echo }]\nlogs: { level: info }\n'

/** The target of the audit entry about a change; undefined without an entry. */
async function targetOf(before: ReturnType<typeof read>, after: ReturnType<typeof read>) {
  const recorded: unknown[] = []
  await recordChange(before, after, async (entry) => void recorded.push(entry))
  return Object(recorded[0]).target
}

test('a changed configuration is recorded with the names of its changed parts and variables, without values', async () => {
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
  assert.deepEqual(rotated, { file: 'routes.yaml', variables: ['STRIPE'] })
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
