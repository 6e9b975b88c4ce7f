/**
 * Examples for the help of commands, by their words. A test checks their flags. `#` begins a
 * comment.
 */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'message list': [
    'trivium message list --outcome dead --since today',
    `trivium message list --search 'from:petra order 4655'`,
  ],
  'message show': ['trivium message show ID', 'trivium message show ID --full'],
  'message send': [
    'trivium message send cli hello there',
    'trivium message send cli hello --explain   # only the route',
  ],
  'message resend': [`trivium message resend ID --text 'a corrected text'`],
  'message retry': ['trivium message retry ID'],
  'conversation list': [
    'trivium conversation list --unanswered',
    'trivium conversation list --for-person',
    'trivium conversation list --gateway support --since 2d',
  ],
  'conversation show': [
    'trivium conversation show mail-petra',
    'trivium conversation show support mail-petra',
  ],
  'conversation note': [`trivium conversation note support mail-petra 'she is moving'`],
  'conversation answer': [`trivium conversation answer mail-petra 'It arrives on Monday.'`],
  'conversation take over': [`trivium conversation take over mail-petra --for 2h --reason 'I call her'`],
  'dead-letter list': [
    'trivium dead-letter list --route orders --since today',
    `trivium dead-letter list --error 'Bad Gateway'`,
  ],
  'dead-letter groups': ['trivium dead-letter groups --since 4h'],
  'dead-letter retry': [
    'trivium dead-letter retry ID',
    `trivium dead-letter retry --all --error 'Bad Gateway' --dry-run`,
    `trivium dead-letter retry --all --error 'Bad Gateway'   # now, and prints the number`,
  ],
  'dead-letter drop': [
    'trivium dead-letter drop ID',
    'trivium dead-letter drop --all --route orders --until 7d --yes',
  ],
  'dead-letter bulk': [
    'trivium dead-letter bulk --do retry --since 4h   # a job, for large numbers',
    'trivium dead-letter bulk --do retry --queue dispatch --code model_failed --since 4h',
  ],
  history: [
    `trivium history 'order 4655'`,
    'trivium history zoe.lindstrom   # a person',
    'trivium history --conversation mail-12 --since 2d',
    'trivium history --gateway support --follow',
  ],
  tail: ['trivium tail --gateway shop', `trivium tail --match '{"event":"orders/paid"}'`],
  listen: ['trivium listen --forward http://127.0.0.1:3000/hook', 'trivium listen --gateway shop --max 1'],
  audit: [
    'trivium audit 4655',
    'trivium audit --since yesterday --without message-submit',
    'trivium audit --since 30d --csv > audit.csv',
  ],
  'route explain': ['trivium route explain ID', 'trivium route explain message.json --all'],
  'route pause': [`trivium route pause reviews --for 2h --reason 'a wave of spam'`],
  'route replay': ['trivium route replay --since 2h --dry-run', 'trivium route replay --since 2h'],
  'gateway example': [
    'trivium gateway example stripe --url https://hooks.example.com',
    'trivium gateway example --search mail',
  ],
  'gateway pause': ['trivium gateway pause shop --for 30m'],
  'gateway send': [
    `trivium gateway send 'It arrives on Monday.' --message-id ID`,
    `trivium gateway send 'Good morning' --gateway team --to '#sales' --in 2h`,
  ],
  'gateway receive': ['trivium gateway receive --gateway printing --timeout 30s --json'],
  'refusal try': ['trivium refusal try payments', 'echo "$SECRET" | trivium refusal try payments --id ID'],
  'skill pause': ['trivium skill pause export-ledger --for 1d'],
  'skill usage': ['trivium skill usage helpdesk --since 30d --outcome failed'],
  'skill test': ['trivium skill test helpdesk', 'trivium skill test helpdesk --record --case refund*'],
  'run cancel': [`trivium run cancel ID --reason 'it hangs'`],
  'approval decide': [
    'trivium approval decide ID --approve',
    `trivium approval decide ID --no-approve --reason 'over the limit'`,
  ],
  'schedule create': [
    'trivium schedule create daily-report --cron "0 9 * * 1-5" --timezone Europe/Oslo',
    'trivium schedule create clean-up --every 15m',
  ],
  'event emit': [`trivium event emit orders --type paid --data '{"order":4655}'`],
  'event wait': [
    'trivium event wait orders --queue books --follow',
    'trivium event wait gateway-message --no-ack   # only look',
  ],
  'group replay': ['trivium group replay audit gateway-message --since 2h --dry-run'],
  'group unread': ['trivium group unread audit gateway-message'],
  'group skip': [
    'trivium group skip audit gateway-message --until 2h --dry-run',
    'trivium group skip audit gateway-message --until 2h   # only what is older than 2 hours',
  ],
  'group seek': ['trivium group seek audit gateway-message start'],
  'subscription create': ['trivium subscription create crm https://crm.example.com/hook --topic orders'],
  'subscription replay': [
    'trivium subscription replay crm --since 2h --dry-run',
    'trivium subscription replay crm --since 2026-11-27T08:00Z --until 2026-11-27T09:30Z',
  ],
  'person list': [
    'trivium person list petra novak --gateway support',
    'trivium person list --sort waits   # who waits longest first',
  ],
  'person show': [
    'trivium person show petra novak',
    'trivium person show ada@example.com team:U024BE7LH   # an address, and a Slack id',
  ],
  'person open': ['trivium person open --kind unanswered,approval', 'trivium person open ada@example.com'],
  'person count': [
    'trivium person count ada@example.com   # on every gateway',
    'trivium person count ada@example.com team:U024BE7LH   # and a Slack id',
  ],
  'person export': [
    'trivium person export ada@example.com --output ada.jsonl   # from every gateway',
    'trivium person export ada@example.com --format html   # a page to read',
    'trivium person export ada@example.com team:U024BE7LH   # and of a Slack id',
  ],
  'person erase': [
    'trivium person erase ada@example.com   # only counts, on every gateway',
    'trivium person erase ada@example.com --confirm --wait 60s',
    'trivium person erase ada@example.com team:U024BE7LH --confirm   # and a Slack id',
  ],
  'approval list': [
    'trivium approval list --sort amount',
    `trivium approval list --search 'amount<50' --status pending`,
  ],
  'schedule list': ['trivium schedule list'],
  'pause list': ['trivium pause list --watch 5'],
  'skill list': ['trivium skill list --all'],
  'gateway list': ['trivium gateway list --watch'],
  'run list': ['trivium run list --watch 2'],
  'call settle': [
    'trivium call settle KEY --happened',
    'trivium call settle KEY --no-happened   # it runs again',
  ],
  'cost show': [
    'trivium cost show --by skill --since 30d',
    'trivium cost show --by time --split skill --since 6h',
    'trivium cost show --by day --split sender --since 30d --csv > cost.csv',
  ],
  'state set': ['trivium state set limit 500 --ttl 1d'],
  'gateway show': ['trivium gateway show shop', 'trivium gateway show shop --watch'],
  'route list': ['trivium route list --since 1h'],
  'route show': ['trivium route show orders --since yesterday'],
  'config show': ['trivium config show', 'trivium config show --config /etc/trivium/routes.yaml'],
  'dead-letter show': ['trivium dead-letter show ID'],
  'group list': ['trivium group list --topic gateway-message', 'trivium group list --history --since 6h'],
  'group show': ['trivium group show audit', 'trivium group show audit gateway-message'],
  'refusal list': ['trivium refusal list --gateway shop', 'trivium refusal list --each   # with ids'],
  'trouble list': ['trivium trouble list --watch 5', 'trivium trouble list --short'],
  'trouble show': ['trivium trouble show ID'],
  'state list': ['trivium state list --prefix seen:'],
  'state show': ['trivium state show', 'trivium state show task_board'],
  'workbench show': ['trivium workbench show', 'trivium workbench show --dir ../other/workbench'],
  'skill show': ['trivium skill show refund'],
  'mcp list': ['trivium mcp list'],
  'error list': ['trivium error list'],
  'error show': ['trivium error show model_failed'],
  'event list': ['trivium event list gateway-message --since 2h'],
  'event show': ['trivium event show gateway-message ID'],
  'send list': ['trivium send list --gateway support'],
  'session list': ['trivium session list'],
  'subscription list': ['trivium subscription list --watch 5'],
  'subscription show': [
    'trivium subscription show crm',
    'trivium subscription show crm --outcome failed --since 2h',
  ],
  'subscription waiting': ['trivium subscription waiting crm --limit 100'],
  'audit list': ['trivium audit list --since today', 'trivium audit list --by jonas --action dead-letter-*'],
  'job list': ['trivium job list --state running', 'trivium job list --since today'],
  'job show': ['trivium job show ID', 'trivium job show ID --follow   # until it has ended'],
  'call list': ['trivium call list'],
  'delegation list': ['trivium delegation list --worker ada'],
  'schedule show': ['trivium schedule show daily-report', 'trivium schedule show daily-report --run RUN'],
  'view list': ['trivium view list --list messages'],
  backup: ['trivium backup /backups/trivium.tgz'],
  restore: ['trivium restore --check /backups/trivium.tgz   # changes nothing'],
}

/** The commands that have examples. */
export const WITH_EXAMPLES: readonly string[] = Object.keys(EXAMPLES)

/** The end of the help of a command (`message list`): its examples; empty without any. */
export function examplesOf(command: string): string {
  const examples = Object.hasOwn(EXAMPLES, command) ? EXAMPLES[command] : undefined
  return examples === undefined ? '' : `\nExamples:\n${examples.map((each) => `  ${each}`).join('\n')}`
}
