import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanApproval } from '../../src/features/approvals/print/request.ts'
import { askerOf } from '../../src/lib/asker.ts'

const message = { id: 'm1', gateway: 'support', conversation: 'c1', from: 'Renée van der Berg' }
const approval = { by: 'support:renee@vdberg.example', message }

test('who asked for an approval has the name of their message, with the identity', () => {
  assert.deepEqual(askerOf(approval), {
    name: 'Renée van der Berg',
    address: 'renee@vdberg.example',
    identity: 'support:renee@vdberg.example',
  })
  const request = { ...approval, id: 'a1', skill: 'refund', title: 'Refund', status: 'pending', args: {} }
  assert.match(
    humanApproval({ ...request, requestedAt: 0, expiresAt: 1 }),
    /asked by +Renée van der Berg\s+\(support:renee@vdberg\.example\)/,
  )
})

test('nobody else gets the name of a sender', () => {
  assert.equal(askerOf({ ...approval, by: 'oidc:ada@example.com' }).name, undefined)
  assert.equal(askerOf({ ...approval, by: 'shop:renee@vdberg.example' }).name, undefined)
  assert.equal(askerOf({ by: 'http control' }).name, undefined)
  const unnamed = { ...message, from: 'renee@vdberg.example' }
  assert.equal(askerOf({ ...approval, message: unnamed }).name, undefined)
})

test('a sender without a name is named by their address, without the gateway', () => {
  const chat = { ...message, gateway: 'chat', from: 'zoe@lumen.example' }
  const { name, address } = askerOf({ by: 'chat:zoe@lumen.example', message: chat })
  assert.deepEqual([name, address], [undefined, 'zoe@lumen.example'])
  assert.equal(askerOf({ by: 'oidc:ada@example.com', message: chat }).address, undefined)
  assert.equal(askerOf({ by: 'http control' }).address, undefined)
})
