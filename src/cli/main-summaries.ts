/**
 * What the main help says about each command: one line at 80 columns. The help of a command has its
 * whole description.
 */
export const SUMMARIES: Readonly<Record<string, string>> = {
  status: 'what is wrong, and the backlog of the three roads',
  trouble: 'what is wrong now, since when, and what to do',
  top: 'live view of rates, troubles, gateways and roads',
  tail: 'print messages as they arrive, until Ctrl-C',
  doctor: 'check Node, the configuration, the store, the gateways',
  error: 'explain error codes',
  audit: 'who did what, when and why',
  cost: 'tokens and cost of models, with the budgets',

  message: 'list, search and show messages; submit one',
  conversation: 'list, show and answer conversations; take over',
  history: 'what people wrote, and the answers they got',
  'dead-letter': 'failed messages and replies: show, retry, drop',
  refusal: 'refused deliveries; try another secret on them',
  send: 'messages that are sent later: list, cancel',
  run: 'what runs now: attempts on messages, and jobs',
  view: 'saved searches that everybody sees: list, save, delete',

  gateway: 'state and traffic of gateways; pause, receive, send',
  route: 'list, pause, check and explain routes',
  pause: 'what is paused, by whom and why',
  email: 'get the OAuth2 login of a mailbox',
  slack: 'workspaces that installed a Slack app',

  event: 'topics: publish, read and acknowledge events',
  group: 'consumer groups: how far behind; move, replay',
  subscription: 'push subscriptions, which send events to URLs',
  listen: 'deliver events to a program under development',

  skill: 'list, show, create, test and pause skills',
  approval: 'requests that wait for a decision: show, decide',
  schedule: 'skills that run at planned times: change, run, pause',
  job: 'long-running work, such as replays: show, cancel',
  session: 'what skills remember of conversations',
  callback: 'let a running skill wait for a program outside',
  call: 'calls whose outcome is unknown after a crash',
  artifact: 'save a text as a file',
  mcp: 'serve the skills over MCP, for assistants and editors',

  task: 'the task board of the workbench',
  delegation: 'work for a person or a program: take, accept',
  workbench: 'the work state shared by agents and people',
  state: 'durable documents: show, migrate, repair',

  init: 'create a project in a folder',
  demo: 'a temporary daemon with a day of traffic',
  start: 'run the daemon in the foreground',
  reload: 'reload routes.yaml and the skills',
  config: 'show routes.yaml as loaded, or its JSON Schema',
  parts: 'optional parts: which are installed or needed',
  token: 'replace the control token of the running daemon',
  person: 'people who wrote: list, show, export, erase',
  backup: 'copy the store and the data into one archive',
  restore: 'restore an archive of `trivium backup`',
  daemon: 'resume all daemons after `restore --paused`',
  compact: 'return free space of trivium.db to the disk',
  store: 'change the store while no daemon runs',
  completion: 'completion for bash, zsh and fish',
}
