import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { createMailbox } from '../../src/cli/demo/mailbox.ts'

for (const protocol of ['Imap', 'Smtp'] as const) {
  test(`the mailbox of the demo serves ${protocol.toUpperCase()} after a client reset its connection`, async (t) => {
    const serve = createMailbox()[`serve${protocol}`]
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      // In the demo, services.ts handles errors of a socket; here nothing needs to be done.
      socket.on('error', () => {})
      sockets.push(socket)
      serve(socket)
    })
    t.after(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const greeting = async () => {
      const client = connect(port, '127.0.0.1')
      const [data] = await once(client, 'data')
      return { client, text: String(data) }
    }
    const first = await greeting()
    first.client.resetAndDestroy()
    const [socket] = sockets
    assert.ok(socket)
    // `once` would reject with the error of the reset.
    if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()))
    const second = await greeting()
    assert.match(second.text, /^(\* OK|220) /)
    second.client.destroy()
  })
}
