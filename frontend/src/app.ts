// The page's own script. The server draws everything; this keeps it live, sends forms without leaving the page, and
// looks after what only a browser knows: scroll, drafts, clocks, the clipboard.
import { live } from "./live";
import { forms } from "./forms";
import { composer } from "./composer";
import { page } from "./page";
import { panel } from "./panel";
import { palette } from "./palette";
import { chat } from "./chat";
import { inbox } from "./inbox";
import { lists } from "./lists";
import { workflow } from "./workflow";

panel();
page();
inbox();
lists();
workflow();
forms();
chat();
composer();
palette();
live();
