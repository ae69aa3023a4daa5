"""Drawing a diagnosis. `view` builds one plain view of it; terminal, html and notebook only draw that view.

`document` is the machine's report (JSON) and is made from the diagnosis alone.
"""
