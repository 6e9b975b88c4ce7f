type Asker = { name: string | undefined; address: string | undefined; identity: string | undefined }

/**
 * The requester of an approval. If the requester is the sender of its message, `name` is as the
 * message gives it, and `address` is the identity without its gateway. Anybody can choose any name,
 * so the identity belongs beside it.
 */
export function askerOf({ by, message }: { by?: unknown; message?: unknown }): Asker {
  const identity = typeof by === 'string' ? by : undefined
  const { gateway, from } = Object(message)
  const isSender = typeof gateway === 'string' && identity?.startsWith(`${gateway}:`) === true
  const address = (isSender && identity?.slice(gateway.length + 1)) || undefined
  const isNamed = address !== undefined && typeof from === 'string' && from !== '' && from !== address
  return { name: isNamed ? from : undefined, address, identity }
}
