import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { summaryOf } from '../../src/lib/summary-of.ts'

describe('the summary of a JSON message', () => {
  test('contains the amount and status of a Stripe payment, but no ids', () => {
    const event = {
      id: 'evt_3MtwBwLkdIwHu7ix28a3tqPa',
      object: 'event',
      api_version: '2026-01-28',
      created: 1680064028,
      type: 'payment_intent.succeeded',
      livemode: false,
      pending_webhooks: 2,
      data: {
        object: {
          id: 'pi_3MtwBwLkdIwHu7ix28a3tqPa',
          object: 'payment_intent',
          amount: 2000,
          currency: 'usd',
          status: 'succeeded',
          client_secret: 'pi_3Mtw_secret_YrKJUKribcBjcG8HVhfZluoGH',
          description: 'Order 4711',
        },
      },
    }
    assert.equal(summaryOf(event), 'Order 4711 · amount: 2000 · status: succeeded · currency: usd')
  })

  test('contains the title, action and state of a GitHub issue', () => {
    const event = {
      action: 'opened',
      issue: {
        url: 'https://api.github.com/repos/acme/shop/issues/1347',
        id: 1,
        node_id: 'MDU6SXNzdWUx',
        number: 1347,
        title: 'Found a bug',
        user: { login: 'octocat', avatar_url: 'https://github.com/images/error.gif' },
        state: 'open',
        created_at: '2026-04-22T13:33:48Z',
      },
      repository: { full_name: 'acme/shop' },
    }
    assert.equal(summaryOf(event), 'Found a bug · action: opened · number: 1347 · state: open')
  })

  test('contains the number, an item and the prices of a Shopify order', () => {
    const event = {
      id: '820982911946154508',
      admin_graphql_api_id: 'gid://shopify/Order/820982911946154508',
      currency: 'USD',
      current_total_price: '398.00',
      email: 'jon@example.com',
      name: '#9999',
      total_price: '398.00',
      token: '123456abcd',
      line_items: [{ title: 'IPod Nano - 8GB', price: '199.00' }],
    }
    assert.equal(summaryOf(event), '#9999 · IPod Nano - 8GB · total_price: 398.00 · price: 199.00')
  })

  test('has the number of an order before its currency', () => {
    const order = { currency: 'EUR', total_price: '20.00', order_number: 5031 }
    assert.equal(summaryOf(order), 'order_number: 5031 · total_price: 20.00 · currency: EUR')
  })

  test('is one line of limited length, and undefined without readable values', () => {
    assert.equal(summaryOf({ text: 'Hello,\n\nhow are you?' }), 'Hello, how are you?')
    assert.equal(summaryOf({ id: 'evt_1234567890', ok: true, at: '2026-11-21T10:00:00Z' }), undefined)
    assert.equal(summaryOf('text'), undefined)
    assert.equal(summaryOf({ text: 'x'.repeat(5_000) })?.length, 120)
  })

  test('does not fail for huge lists and deep objects', () => {
    const wide = { list: Array.from({ length: 100_000 }, (_, index) => ({ [`name${index}`]: 'x' })) }
    assert.ok(summaryOf(wide))
    let deep: object = { title: 'far down' }
    for (let level = 0; level < 100_000; level++) deep = { deep }
    assert.equal(summaryOf(deep), undefined)
  })
})
