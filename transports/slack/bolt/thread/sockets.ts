import { createRequire } from 'node:module'
import * as bolt from '@slack/bolt'

/**
 * Receivers that an app makes open no socket in its thread: Slack would divide the events of the app between that socket
 * and the gateway's. Also those of an App that was made past `hosted.ts`.
 */
export function keepSocketsClosed(): void {
  bolt.SocketModeReceiver.prototype.start = async () => ({ ok: true })
  const ofBolt = createRequire(import.meta.resolve('@slack/bolt'))
  const { SocketModeClient } = ofBolt('@slack/socket-mode')
  SocketModeClient.prototype.start = async () => ({ ok: true })
}
