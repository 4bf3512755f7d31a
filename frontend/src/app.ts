// The page's own script. The server draws everything; this keeps it live, sends forms without leaving the page, and
// looks after what only a browser knows: scroll, drafts, clocks, the clipboard.
import { live } from "./live";
import { forms } from "./forms";
import { composer, files } from "./composer";
import { page, transcript } from "./page";
import { panel } from "./panel";
import { palette } from "./palette";
import { chat, talk } from "./chat";
import { inbox } from "./inbox";
import { lists } from "./lists";
import { workflow } from "./workflow";
import { visit } from "./visit";

page();
inbox();
lists();
workflow();
forms();
chat();
composer();
palette();
visit(() => [panel, transcript, talk, files].forEach((begin) => begin()));
live();
