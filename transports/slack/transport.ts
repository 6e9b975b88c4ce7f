import type { JsonObject } from '../../src/core/json.ts'
import type { Account, Check, Health, Transport } from '../../src/core/transport.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { pause } from '../../src/lib/pause.ts'
import { createAssistant } from './assistant.ts'
import { createBolt } from './bolt/bolt.ts'
import { checkSlack } from './check.ts'
import { createGapFill } from './gaps/gap-fill.ts'
import type { SlackDeps } from './host.ts'
import { createHttpListener } from './http.ts'
import { createAnswers } from './inbound/answers.ts'
import type { AcceptedPayload, Draft } from './inbound/delivery.ts'
import { createInbound } from './inbound/inbound.ts'
import type { Listener } from './listener.ts'
import type { SlackOptions } from './options.ts'
import { createCalls } from './outbound/calls.ts'
import { createSender } from './outbound/sender.ts'
import { createProgress } from './progress.ts'
import { createSocketMode } from './socket.ts'
import { createUserGroups } from './user-groups.ts'
import type { Workspace } from './workspaces/workspace.ts'
import { createWorkspaces, whyNotReady } from './workspaces/workspaces.ts'

const BACKOFF = { first: 1000, longest: 30_000 }

/** Creates the transport of one Slack gateway. Does no I/O before `start`, or the first `send`. */
export function createSlackTransport(options: SlackOptions, deps: SlackDeps): Transport {
  const parts = makeParts(options, deps)
  const { workspaces, sender, bolt } = parts
  const listener = createListener(options, deps, parts)
  const stopping = new AbortController()
  let fault = ''
  let isIdentified = false
  let stopServing: (() => void) | undefined

  /** Asks Slack who the bot is until it answers, then listens. */
  const begin = async () => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        await workspaces.ready()
        if (stopping.signal.aborted) return
        isIdentified = true
        await parts.groups.start()
        if (stopping.signal.aborted) return
        void bolt.prepare()
        listener.start()
        return void parts.progress.resume()
      } catch (error) {
        const wait = backoff(++failures, BACKOFF)
        // So that faults of its apps show before there is a valid token.
        if (fault === '') void bolt.inspection.run()
        fault = whyNotReady(error)
        deps.log.warn({ reason: fault, wait }, 'the bot is not connected to Slack; trying again')
        await pause(wait, stopping.signal)
      }
    }
  }

  const health = (): Health =>
    isIdentified
      ? healthOf(parts, listener)
      : {
          ok: fault === '',
          detail: [fault || 'waiting for Slack to say who the bot is', ...bolt.inspection.faults()].join(
            '; ',
          ),
        }

  return {
    installs: workspaces.installs,
    account: () => accountOf(workspaces.only()),
    async start() {
      stopServing = workspaces.installs?.serve()
      // Not awaited: the daemon starts even if Slack is unavailable.
      void begin()
    },
    send: sender.send,
    probe: sender.probe,
    stream: sender.stream,
    working: parts.assistant.working,
    runListeners: bolt.runListeners,
    async stop() {
      stopping.abort()
      stopServing?.()
      if (isIdentified) await listener.stop()
      await parts.inbound.stop()
      parts.progress.stop()
      parts.groups.stop()
      await parts.gaps?.stop()
    },
    async close() {
      await bolt.close()
      sender.close()
    },
    health,
    async check() {
      const checks = await checkSlack(options, workspaces, isIdentified ? health : undefined, deps)
      return [...checks, ...(await checkApps(bolt, isIdentified))]
    },
  }
}

/**
 * For `doctor`: what works differently for the Bolt apps, or why they cannot be loaded if they do
 * not run yet.
 */
async function checkApps({ inspection, warnings }: Parts['bolt'], areRunning: boolean): Promise<Check[]> {
  const name = 'Bolt app'
  if (areRunning) return (await warnings()).map((detail) => ({ name, ok: true, warning: true, detail }))
  await inspection.run()
  return inspection.faults().map((detail) => ({ name, ok: false, detail }))
}

type Parts = ReturnType<typeof makeParts>

function makeParts(options: SlackOptions, deps: SlackDeps) {
  const workspaces = createWorkspaces(options, deps)
  const groups = createUserGroups(options, deps, workspaces)
  const progress = createProgress(options, deps, workspaces)
  const calls = createCalls(options, deps)
  const bolt = createBolt(options, deps, workspaces, calls)
  const sender = createSender(options, deps, workspaces, calls)
  const assistant = createAssistant(options, deps, workspaces, sender.streamed)
  const onAccepted = (draft: Draft, accepted: AcceptedPayload) => {
    if (accepted.isFollowed) progress.follow(draft, accepted)
    void assistant.onAccepted(draft, accepted)
  }
  const inbound = createInbound(options, deps, workspaces, onAccepted, groups.of)
  const answer = createAnswers(options, deps, inbound.take, bolt, groups.of)
  const gaps = createGapFill(options, deps, workspaces, inbound)
  return { workspaces, groups, progress, bolt, sender, assistant, inbound, answer, gaps }
}

/** The source of payloads (a socket or an HTTP path), with their handling. */
function createListener(options: SlackOptions, deps: SlackDeps, parts: Parts): Listener {
  const { workspaces, groups, sender, answer, gaps } = parts

  const take = async (payload: JsonObject, retry = 0): Promise<object | undefined> => {
    const workspace = await workspaces.of(payload)
    // Acknowledged, because Slack would repeat it, and would disable all events after many
    // failures.
    if (!workspace) return undefined
    const opened = payload.view === undefined ? undefined : await sender.placeOf(payload)
    const delivery = { payload, workspace, retry, opened }
    groups.handleEvent(payload)
    const acknowledgement = await (gaps ? gaps.watch(delivery, () => answer(delivery)) : answer(delivery))
    await workspaces.installs?.handleEvent(payload, workspace)
    return acknowledgement?.response
  }

  const listening = { take, connected: () => gaps?.connected() }
  return options.mode === 'http'
    ? createHttpListener(options, deps, listening)
    : createSocketMode(options, deps, listening)
}

const accountOf = (workspace: Workspace | undefined): Account | undefined =>
  workspace && { team: workspace.team, teamName: workspace.name, user: workspace.botUser }

/** A gateway that receives from only some of its workspaces is unhealthy. */
function healthOf({ workspaces, groups, bolt, gaps }: Parts, listener: Listener): Health {
  const { ok, detail, gauges } = listener.health()
  const filling = gaps?.status() ?? { ok: true, detail: [] }
  const faults = [...workspaces.faults(), ...groups.faults(), ...bolt.faults()]
  return {
    ok: ok && filling.ok && faults.length === 0,
    detail: [detail, filling.detail, faults].flat().join('; '),
    gauges,
  }
}
